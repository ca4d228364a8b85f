// Worker threads that share 16 tasks; argument 1 is their number.
const { Worker, isMainThread, parentPort } = require("worker_threads");

if (isMainThread) {
  let next = 0;
  for (let i = 0; i < Number(process.argv[2]); i++) {
    const worker = new Worker(__filename);
    const give = () => (next < 16 ? worker.postMessage(next++) : worker.terminate());
    worker.on("message", give);
    give();
  }
} else {
  parentPort.on("message", (task) => {
    let sum = 0;
    for (let i = 0; i < 3e7; i++) sum = (sum * 31 + i * task) | 0;
    parentPort.postMessage(sum);
  });
}
