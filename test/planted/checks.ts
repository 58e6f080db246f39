import { bug, type PlantedBug } from "./plantedBug.ts";

const program = (name: string, file: string, find: string, replace: string, ...args: readonly string[]): PlantedBug => ({
  name,
  file,
  find,
  replace,
  caughtBy: { program: args },
});

/** What the checks of `npm run check` must notice. */
export const CHECKS: readonly PlantedBug[] = [
  program(
    "the rules ask the system's clock",
    "src/core/swap/timelocks.ts",
    "firstSendBy: startedAt + Math.floor(lockDurationSec / 3),",
    "firstSendBy: Math.floor(Date.now() / 1_000) + Math.floor(lockDurationSec / 3),",
    "scripts/check-ambient.ts",
  ),
  program(
    "an adapter uses another one",
    "src/adapters/utxoRpc/fault.ts",
    "/** Why a look at the daemon did not end with a fresh view. None of them changes what the index knows. */",
    'import "../sqlite/migrations.ts";\n/** Why a look at the daemon did not end with a fresh view. None of them changes what the index knows. */',
    "scripts/check-layers.ts",
  ),
  program(
    "a method's documents are out of date",
    "src/rpc/methods/version.ts",
    "summary: ",
    'summary: "now " + ',
    "scripts/gen.ts",
    "--check",
  ),
  program(
    "something is exported that nobody uses",
    "src/core/swap/timelocks.ts",
    "const MAKER_LOCK_FACTOR = 2;",
    "export const MAKER_LOCK_FACTOR = 2;",
    "scripts/check-unused.ts",
  ),
  program(
    "a row of a document has a cell that nobody is shown",
    "docs/compatibility.md",
    "| gets it like others (KDF: from no relay): the name",
    "| gets it from no relay | gets it like others: the name",
    "scripts/check-links.ts",
  ),
  bug(
    "a market maker is told that a node may be away for half an hour while swaps are open",
    "docs/operations/market-maker.md",
    "Sooner is safe, too, if the node is back within 15 min",
    "Sooner is safe, too, if the node is back well within half an hour",
    "sim/run/envelope.test.ts",
  ),
  bug(
    "a wallet is made where its node does not look for it",
    "src/config/configSources.ts",
    'return ok(named === null ? defaultDbDir(at) : join(isAbsolute(named) ? "" : at.cwd, named));',
    "return ok(defaultDbDir(at));",
    "src/main/cli.test.ts",
    "src/main/dataCommand.test.ts",
  ),
  bug(
    "the command for the smallest schedule of a failing run leaves out which faults it has",
    "sim/run/schedule.ts",
    ".filter(({ id }) => isWanted(options.onlyFaults, id))",
    "",
    "sim/run/commandOf.test.ts",
  ),
  bug(
    "a failing run tells no story where no swap is named",
    "sim/run/failure.ts",
    "named.size > 0 ? named : told.swaps.keys()",
    "named",
    "sim/run/commandOf.test.ts",
  ),
  bug(
    "a simulated reorganisation takes back what nodes were given, and the books cannot come out",
    "sim/run/carry.ts",
    "if (chain.state.tip.height - fault.depth < (this.#deps.fundedAt.get(fault.coin) ?? 0)) return null;",
    "",
    "test/sim/befallen.test.ts",
  ),
  {
    name: "a simulated run ends while a claim that was undone is in no block, before its node can know how that goes",
    file: "sim/run/swapBook.ts",
    find: "!state.facts[ownClaim(role)]?.block;",
    replace: "!state.facts[ownClaim(role)];",
    caughtBy: {
      program:
        "--import ./sim/native/hook.ts sim/main.ts --no-shrink --seed 18 --makers 2 --takers 5 --hours 0.6 --rate 25 --faults 50 --outside 0.7 --kinds reorg,forget,power_cut,crash,daemon_refuses,fee_spike --reorg 12".split(
          " ",
        ),
      says: "[truth]",
    },
  },
];
