# A pool of processes; argument 1 is their number.
use strict;
use Parallel::ForkManager;
my $pool = Parallel::ForkManager->new($ARGV[0]);
$pool->set_waitpid_blocking_sleep(0);
for my $task (1 .. 24) {
    $pool->start and next;
    my $sum = 0;
    $sum += ($_ * $task) % 7 for 1 .. 200_000;
    $pool->finish;
}
$pool->wait_all_children;
