import { TaskBook } from "../../../src/app/taskBook.ts";
import { ok } from "../../../src/core/util/result.ts";
import type { Tasks, TasksApi } from "../../../src/rpc/ctx/tasks.ts";
import { METHODS } from "../../../src/rpc/table.ts";
import { taskCrash } from "../../../src/rpc/taskMethods.ts";

/** What the example of a finished task says of it. */
function exampleOf(name: string): unknown {
  const status = METHODS.find((m) => m.name === name)?.examples[0]?.result;
  return typeof status === "object" && status !== null && "details" in status ? status.details : undefined;
}

function withTwo(name: string, about: string): Tasks<string> {
  const tasks: Tasks<string> = new TaskBook(taskCrash);
  tasks.start(about, async () => ok(exampleOf(`task::${name}::status`)));
  tasks.start(about, () => new Promise(() => undefined));
  return tasks;
}

/** Of each kind a task that is finished, 0, and one that never ends, 1. */
export const fakeTasks = (): TasksApi => ({ enableUtxo: withTwo("enable_utxo", "KMD"), withdraw: withTwo("withdraw", "DOC") });
