import type { SimRunOptions } from "./options.ts";
import type { WorkerAnswer } from "./pool.ts";
import { scheduleOf, simRun } from "./simRun.ts";
import { summarize } from "./summary.ts";

// A process of the pool: options in, figures out, until it is ended.
process.on("message", (options: SimRunOptions) => {
  simRun(options, scheduleOf(options)).then(
    (run) => process.send?.({ ok: true, summary: summarize(run) } satisfies WorkerAnswer),
    (cause: unknown) => {
      const error = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
      process.send?.({ ok: false, seed: options.seed, error } satisfies WorkerAnswer);
    },
  );
});
