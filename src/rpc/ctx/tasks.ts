import type { TaskBook } from "../../app/taskBook.ts";
import type { Fault } from "../fault.ts";

/** Tasks of one kind; what comes of one is the JSON of a reply, or a failure. */
export type Tasks<P> = TaskBook<P, unknown, Fault>;

/** The work that calls named `task::` begin. */
export type TasksApi = {
  /** By the coin's ticker. */
  readonly enableUtxo: Tasks<string>;
  readonly withdraw: Tasks<string>;
};
