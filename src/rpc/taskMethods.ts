import { z } from "zod";
import { err, ok } from "../core/util/result.ts";
import { Aborted } from "../ports/clock.ts";
import type { Tasks } from "./ctx/tasks.ts";
import type { RpcContext } from "./ctx.ts";
import { defineMethod, type Method } from "./define.ts";
import { type Fault, type FaultSpec, type FaultTable, faultOf } from "./fault.ts";
import { flag, type Read, readString, readU64, required } from "./field.ts";
import { isJsonObject } from "./jsonNumber.ts";
import { MISSING, unknownVariant, wrongType } from "./serdeText.ts";

/** One kind of task and how a running one is shown. */
export type TaskKind<D extends z.ZodType, R extends z.ZodType> = {
  /** Between `task::` and `::status`. */
  readonly name: string;
  /** What it does, for the documents: "enables a UTXO coin". */
  readonly does: string;
  readonly tasks: (ctx: RpcContext) => Tasks<string>;
  /** It may send a transaction. */
  readonly sends: boolean;
  readonly progress: D;
  readonly progressOf: (ctx: RpcContext, about: string) => z.input<D>;
  readonly result: R;
  /** Of the examples. */
  readonly exampleResult: z.input<R>;
  readonly exampleProgress: z.input<D>;
};

/** KDF's error of a task that cannot be cancelled any more. */
type TaskFinished = { readonly kind: "TaskFinished"; readonly id: number; readonly isSending: boolean };
const SENDING = "The transaction is being sent and cannot be called back; the status of the task tells what becomes of it";

type NoSuchTask = { readonly kind: "NoSuchTask"; readonly id: number };

const noSuchTask = (http: number): FaultSpec<NoSuchTask> => ({
  http,
  when: "There is no such task: it never was, was cancelled, or its end has been read.",
  text: ({ id }) => `No such task '${id}'`,
  data: ({ id }) => id,
});

const taskId = () => required(readU64, { type: "integer", minimum: 0 });

/** A failure of the work itself, in the shape of an error envelope. */
const failure = z.object({
  error: z.string(),
  error_path: z.string(),
  error_trace: z.string(),
  error_type: z.string(),
  error_data: z.unknown().optional(),
});

const failureOf = (fault: Fault, path: string): z.input<typeof failure> => ({
  error: fault.text,
  error_path: path,
  error_trace: `${path}:1]`,
  error_type: fault.type,
  ...(fault.data === undefined ? {} : { error_data: fault.data }),
});

/** Too much has been begun and not ended. */
export type TooManyTasks = { readonly kind: "TooManyTasks" };
export const TOO_MANY: FaultSpec<TooManyTasks> = {
  http: 429,
  when: "A hundred such tasks run already.",
  text: () => "Too many tasks of this kind are running; wait for one or cancel it",
};

export const started = z.object({ task_id: z.number() });

/** An error of a task under its table, ready to be shown. */
export function taskFault<E extends { readonly kind: string }>(table: FaultTable<E>, error: E): Fault {
  const specs: { readonly [kind: string]: FaultSpec<never> | undefined } = table;
  const spec = specs[error.kind];
  if (!spec) throw new Error(`no entry for error kind ${error.kind}`);
  // The table's type guarantees that the entry under a kind takes that kind's data.
  return faultOf(spec as FaultSpec<E>, error);
}

const CUT_SHORT =
  "The task was cut short, as when its coin is disabled; it may be done all the same, so look at the state before you repeat it";
const CRASHED = "Internal error; the log of the node has the details";

/** Of work that failed in a way nobody foresaw, or because what it waited for was closed. */
export const taskCrash = (cause: unknown): Fault => {
  const text = cause instanceof Aborted ? CUT_SHORT : CRASHED;
  return faultOf({ http: 500, type: "Internal", when: "", text: () => text }, { kind: "Internal" });
};

const ACTIONS = ["TrezorPin", "TrezorPassphrase"];
const readAction: Read<string> = (value) => {
  if (!isJsonObject(value)) return err(wrongType(value, "internally tagged enum HwRpcTaskUserAction"));
  if (value.action_type === undefined) return err(`${MISSING} \`action_type\``);
  const type = readString(value.action_type);
  if (!type.ok) return type;
  return ACTIONS.includes(type.value) ? type : err(unknownVariant(type.value, ACTIONS));
};

/** `status`, `user_action` and `cancel` of a kind of task (reference rpc.md 5.4). `init` is declared by itself. */
export function taskMethods<D extends z.ZodType, R extends z.ZodType>(kind: TaskKind<D, R>): readonly Method[] {
  const path = `task::${kind.name}`;
  const status = defineMethod<NoSuchTask>()({
    name: `${path}::status`,
    style: "v2",
    struct: "RpcTaskStatusRequest",
    summary: `How a task stands that ${kind.does}. A finished one is forgotten once this was answered, unless told otherwise.`,
    source: "reference rpc.md 5.4",
    params: z.object({ task_id: taskId(), forget_if_finished: flag(true) }),
    result: z.union([
      z.object({ status: z.literal("InProgress"), details: kind.progress }),
      z.object({ status: z.literal("Ok"), details: kind.result }),
      z.object({ status: z.literal("Error"), details: failure }),
    ]),
    async handle(p, ctx) {
      const tasks = kind.tasks(ctx);
      const task = tasks.get(p.task_id);
      if (!task) return err({ kind: "NoSuchTask", id: p.task_id });
      const { outcome, about } = task;
      if (outcome === null) return ok({ status: "InProgress" as const, details: kind.progressOf(ctx, about) });
      if (p.forget_if_finished) tasks.forget(p.task_id);
      if (!outcome.ok) return ok({ status: "Error" as const, details: failureOf(outcome.error, `${path}::init`) });
      // What the task was begun with made this from the schema of the result.
      return ok({ status: "Ok" as const, details: outcome.value as z.input<R> });
    },
    errors: { NoSuchTask: noSuchTask(400) },
    examples: [
      { title: "A finished task", style: "v2", params: { task_id: 0 }, result: { status: "Ok", details: kind.exampleResult } },
      { title: "A running task", style: "v2", params: { task_id: 1 }, result: { status: "InProgress", details: kind.exampleProgress } },
      { title: "No such task", style: "v2", params: { task_id: 7 }, error: "NoSuchTask" },
    ],
  });
  const cancel = defineMethod<NoSuchTask | TaskFinished>()({
    name: `${path}::cancel`,
    style: "v2",
    struct: "CancelRpcTaskRequest",
    summary: `Stop a running task that ${kind.does}.`,
    source: "reference rpc.md 5.4",
    params: z.object({ task_id: taskId() }),
    result: z.literal("success"),
    async handle(p, ctx) {
      const done = kind.tasks(ctx).cancel(p.task_id);
      if (done === "cancelled") return ok("success" as const);
      if (done === "unknown") return err({ kind: "NoSuchTask", id: p.task_id });
      return err({ kind: "TaskFinished", id: p.task_id, isSending: done === "bound" });
    },
    errors: {
      NoSuchTask: noSuchTask(404),
      TaskFinished: {
        http: 409,
        when: kind.sends ? "It has ended already, or its transaction may be out." : "It has ended already.",
        text: ({ isSending }) => (isSending ? SENDING : "Task is finished already"),
        data: ({ id }) => id,
      },
    },
    examples: [
      { title: "A running task", style: "v2", params: { task_id: 1 }, result: "success" },
      { title: "A finished task", style: "v2", params: { task_id: 0 }, error: "TaskFinished" },
    ],
  });
  type NotAwaiting = { readonly kind: "NotAwaiting"; readonly id: number; readonly actual: "InProgress" | "Finished" };
  const userAction = defineMethod<NoSuchTask | NotAwaiting>()({
    name: `${path}::user_action`,
    style: "v2",
    struct: "RpcTaskUserActionRequest",
    summary: `Give a task what it waits for. A task that ${kind.does} never waits here: there are no hardware wallets.`,
    source: "reference rpc.md 5.4",
    params: z.object({
      task_id: taskId(),
      user_action: required(readAction, { type: "object", properties: { action_type: { enum: ACTIONS } }, required: ["action_type"] }),
    }),
    result: z.literal("success"),
    async handle(p, ctx) {
      const task = kind.tasks(ctx).get(p.task_id);
      if (!task) return err({ kind: "NoSuchTask", id: p.task_id });
      return err({ kind: "NotAwaiting", id: p.task_id, actual: task.outcome === null ? "InProgress" : "Finished" });
    },
    errors: {
      NoSuchTask: noSuchTask(400),
      NotAwaiting: {
        http: 500,
        type: "Internal",
        when: "The task waits for nobody, or has ended.",
        text: (e) => `Internal error: ${awaiting(e)}`,
        data: awaiting,
      },
    },
    examples: [
      {
        title: "No such task",
        style: "v2",
        params: { task_id: 7, user_action: { action_type: "TrezorPin", pin: "1" } },
        error: "NoSuchTask",
      },
    ],
  });
  return [status, userAction, cancel];
}

const awaiting = ({ id, actual }: { readonly id: number; readonly actual: string }): string =>
  `RPC '${id}' task is in unexpected status. Actual: '${actual}', expected: 'AwaitingUserAction'`;
