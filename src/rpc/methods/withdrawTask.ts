import { z } from "zod";
import { err, ok, type Result } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod, type Method } from "../define.ts";
import { started, TOO_MANY, type TooManyTasks, taskFault, taskMethods } from "../taskMethods.ts";
import { runWithdraw, WITHDRAW_FAULTS, WITHDRAWAL_EXAMPLE, withdrawal, withdrawParams } from "./withdraw.ts";

const init = defineMethod<NoSuchCoin | TooManyTasks>()({
  name: "task::withdraw::init",
  style: "v2",
  struct: "WithdrawRequest",
  summary: "Begin what `withdraw` does. `task::withdraw::status` has the transaction, or why there is none.",
  source: "reference rpc.md 5.4",
  params: withdrawParams,
  result: started,
  async handle(p, ctx): Promise<Result<z.input<typeof started>, NoSuchCoin | TooManyTasks>> {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const id = ctx.tasks.withdraw.start(p.coin, async (signal, bind) => {
      const done = await runWithdraw(p, ctx, signal, bind);
      return done.ok ? done : err(taskFault(WITHDRAW_FAULTS, done.error));
    });
    return id === null ? err({ kind: "TooManyTasks" }) : ok({ task_id: id });
  },
  errors: { NoSuchCoin: noSuchCoin(false), TooManyTasks: TOO_MANY },
  examples: [
    {
      title: "Send 1 DOC",
      style: "v2",
      params: { coin: "DOC", to: "RAKpXNVtBvkabkhMvc1KETYY5E4MgzXZCR", amount: "1" },
      result: { task_id: 2 },
    },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD", to: "R9", amount: "1" }, error: "NoSuchCoin" },
  ],
});

/** `task::withdraw::*` in the order of the documents. */
export const WITHDRAW_TASK: readonly Method[] = [
  init,
  ...taskMethods({
    name: "withdraw",
    does: "withdraws",
    tasks: (ctx) => ctx.tasks.withdraw,
    sends: true,
    progress: z.literal("GeneratingTransaction"),
    progressOf: () => "GeneratingTransaction" as const,
    result: withdrawal,
    exampleResult: WITHDRAWAL_EXAMPLE,
    exampleProgress: "GeneratingTransaction",
  }),
];
