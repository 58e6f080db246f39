import type { Duty } from "../../../core/swap/duties.ts";
import type { SwapTask } from "../swapTask.ts";
import { bump } from "./bump.ts";
import { claim, refund } from "./claimAndRefund.ts";
import { awaitFee, payFee } from "./fee.ts";
import { answerOffers, negotiate } from "./negotiate.ts";
import { observe } from "./observe.ts";
import { awaitPayment, pay, tell } from "./payment.ts";
import { publish } from "./publish.ts";
import { seek } from "./seek.ts";

/** Runs a duty until it has done its work or `signal` fires. */
export async function runDuty(task: SwapTask, duty: Duty, signal: AbortSignal): Promise<void> {
  switch (duty.do) {
    case "negotiate":
      return negotiate(task, signal);
    case "answer":
      return answerOffers(task, signal);
    case "observe":
      return observe(task, signal);
    case "await_fee":
      return awaitFee(task, signal);
    case "pay_fee":
      return payFee(task, signal);
    case "await_payment":
      return awaitPayment(task, signal);
    case "pay":
      return pay(task, signal);
    case "seek":
      return seek(task, signal);
    case "claim":
      return claim(task, signal);
    case "refund":
      return refund(task, signal);
    case "tell":
      return tell(task, duty.message, signal);
    case "publish":
      return publish(task, duty.slot, signal);
    case "bump":
      return bump(task, duty.slot, signal);
  }
}
