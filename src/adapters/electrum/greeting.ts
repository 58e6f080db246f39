import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { parseOneHeader, parseVersion } from "./answers.ts";
import { type ServerFault, serverFaultText } from "./fault.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** What we call ourselves, and the protocols spoken, lowest and highest. */
const CLIENT = "swapnode";
const PROTOCOLS = ["1.4", "1.4.2"];
/** The last of three numbers from which on a server can be told to forget a script. */
const FORGETS_FROM = 2;
/** What the first block names as the one before it. */
const NO_BLOCK = "0".repeat(64);
const HEADER = "blockchain.block.header";

/** Hash of its first block, and whether it can be told to forget a script. */
export type Greeting = { readonly genesis: string; readonly forgets: boolean };
/** Why a server is not taken, the end of a sentence about it. `refused`: now. `contradicted`, `outvoted`: see `RemoteServer`. */
export type Misfit = { readonly kind: "refused" | "contradicted" | "outvoted"; readonly why: string };

type Server = Pick<RemoteServer, "ask" | "askTip">;
type GreetingDeps = {
  readonly rules: HeaderRules;
  /** See `RemoteServerDeps`. */
  readonly genesis: (told: string) => string | null;
};

const refused = (why: string): Result<never, Misfit> => err({ kind: "refused", why });
const faulty = (fault: ServerFault): Result<never, Misfit> => refused(serverFaultText(fault));

/** The first words with a server: version, first block, tip, and the block that the coins file names. Never rejects. */
export async function greet(server: Server, { rules, genesis }: GreetingDeps): Promise<Result<Greeting, Misfit>> {
  const range = await server.ask("server.version", [CLIENT, PROTOCOLS], parseVersion);
  // electrs before 0.10 takes one version and refuses a range.
  const isRefused = !range.ok && range.error.kind === "rpc";
  const version = isRefused ? await server.ask("server.version", [CLIENT, PROTOCOLS[0]], parseVersion) : range;
  if (!version.ok) return faulty(version.error);
  const first = await server.ask(HEADER, [0], (v) => parseOneHeader(v, rules));
  if (!first.ok) return faulty(first.error);
  const wanted = genesis(first.value.hash);
  if (wanted !== null && first.value.hash !== wanted) {
    const isStored = rules.firstBlock === null;
    const advice = isStored ? '; if it is the right one, enable the coin once with "rescan": true' : "";
    const why = `it serves another chain: its first block is ${first.value.hash}, not ${wanted}${advice}`;
    return err({ kind: isStored ? "outvoted" : "contradicted", why });
  }
  const tip = await server.askTip();
  if (!tip.ok) return faulty(tip.error);
  const begins = wanted === null ? await beginsWith(server, rules, first.value, tip.value.height) : ok(undefined);
  if (!begins.ok) return begins;
  const checked = await hasCheckpoint(server, rules, tip.value.height);
  if (!checked.ok) return checked;
  return ok({ genesis: first.value.hash, forgets: Number(version.value.split(".")[2] ?? 0) >= FORGETS_FROM });
}

/** Whether a first block is one, and the second follows it: the first that is heard of is kept for good. */
async function beginsWith(server: Server, rules: HeaderRules, first: BlockHeader, tipHeight: number): Promise<Result<undefined, Misfit>> {
  const bad = (detail: string): Result<never, Misfit> => faulty({ kind: "bad_answer", method: HEADER, detail });
  if (first.prevHash !== NO_BLOCK) return bad("a first block that follows another one");
  if (tipHeight === 0) return ok(undefined);
  const second = await server.ask(HEADER, [1], (v) => parseOneHeader(v, rules));
  if (!second.ok) return faulty(second.error);
  return second.value.prevHash === first.hash ? ok(undefined) : bad("a second block that does not follow the first one");
}

/** Whether its chain has the block that the coins file names. */
async function hasCheckpoint(server: Server, rules: HeaderRules, tipHeight: number): Promise<Result<undefined, Misfit>> {
  const { checkpoint } = rules;
  if (checkpoint === null) return ok(undefined);
  if (checkpoint.height > tipHeight)
    return refused(`it is at block ${tipHeight}, below block ${checkpoint.height} that the coins file names`);
  const header = await server.ask(HEADER, [checkpoint.height], (v) => parseOneHeader(v, rules));
  if (!header.ok) return faulty(header.error);
  if (header.value.hash === checkpoint.hash) return ok(undefined);
  const why = `it serves another chain: its block ${checkpoint.height} is ${header.value.hash}, not ${checkpoint.hash}`;
  return err({ kind: "contradicted", why });
}
