import { seamRun } from "./seamRun.ts";

// Run by the seam test as a process of its own: the seed in, the run as one line of JSON out.
process.stdout.write(`${JSON.stringify(await seamRun(Number(process.argv[2])))}\n`);
