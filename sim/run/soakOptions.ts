import { parseArgs } from "node:util";
import { share } from "./cliOptions.ts";
import type { SimRunOptions } from "./options.ts";
import { worldOf } from "./worldOf.ts";

export type SoakOptions = {
  readonly minutes: number;
  readonly from: number;
  readonly jobs: number;
  readonly report: string;
  /** The world of a seed. */
  readonly worldAt: (seed: number) => SimRunOptions;
};

export const SOAK_USAGE = `Usage: npm run sim:soak -- [--minutes N] [--from SEED] [--orders N] [--accounts N] [--electrum SHARE] [--density N] [--jobs N] [--report FILE]

  --minutes N    how long; a run that has begun is finished (10)
  --from SEED    first seed (1000)
  --orders N     orders per seed (400)
  --accounts N   coins of an account chain in every world, 0 to 3 (0)
  --electrum 30% share of the nodes' coins on Electrum servers, some of which misbehave (0%)
  --density N    so many times the orders, and the coins for them, in the same hours with the same faults (1)
  --jobs N       processes (2)
  --report FILE  one line per run is added to it (sim-soak.log)
`;

/** Null: help is asked for. @throws RangeError or TypeError for what is no option */
export function soakOptions(args: readonly string[]): SoakOptions | null {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: text,
      from: text,
      orders: text,
      accounts: text,
      electrum: text,
      density: text,
      jobs: text,
      report: text,
      help: { type: "boolean" },
    },
  });
  if (values.help) return null;
  const orders = Number(values.orders ?? 400);
  const accounts = Number(values.accounts ?? 0);
  const electrum = share(values.electrum ?? "0", "electrum");
  const density = Number(values.density ?? 1);
  return {
    minutes: Number(values.minutes ?? 10),
    from: Number(values.from ?? 1_000),
    jobs: Number(values.jobs ?? 2),
    report: values.report ?? "sim-soak.log",
    worldAt: (seed) => worldOf(seed, orders, accounts, density, electrum),
  };
}
