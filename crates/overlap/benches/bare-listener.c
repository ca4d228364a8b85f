/*
 * Runs a command whose calls of `stat` are shown to this process, which lets each go on at once:
 * the least that a supervisor by seccomp's user notification costs (seccomp_unotify(2)).
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As in the headers of Linux 6.6, which Debian 12 does not have. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

/* Installs the filter, sends its listener to the parent and executes the command. */
static int run(int socket, char **command)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };
	long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	union control control;
	struct iovec byte = { "", 1 };
	struct msghdr message = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int listener;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (listener < 0)
		return 126;
	control.header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &listener, sizeof(int));
	if (sendmsg(socket, &message, 0) < 0)
		return 126;
	close(listener);
	execvp(command[0], command);
	return 127;
}

int main(int count, char **arguments)
{
	union control control;
	char byte;
	struct iovec text = { &byte, 1 };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int sockets[2], listener, status;

	if (count < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		return 2;
	if (fork() == 0)
		_exit(run(sockets[1], arguments + 1));
	close(sockets[1]);
	if (recvmsg(sockets[0], &message, 0) < 1)
		return 126;
	memcpy(&listener, CMSG_DATA(&control.header), sizeof(int));
	/* The listener runs on its caller's CPU (Linux 6.6). */
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	for (;;) {
		struct pollfd ready = { listener, POLLIN, 0 };
		struct seccomp_notif call = { 0 };
		struct seccomp_notif_resp answer = { .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };

		poll(&ready, 1, -1);
		if (ready.revents & POLLHUP)
			break;
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
			continue;
		answer.id = call.id;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
