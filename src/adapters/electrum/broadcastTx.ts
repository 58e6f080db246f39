import { err } from "../../core/util/result.ts";
import type { BroadcastOutcome } from "../../ports/chain.ts";
import { parseRawTx, parseTxid } from "./answers.ts";
import { type ServerAnswer, type ServerFault, serverFaultText } from "./fault.ts";
import type { Refusals } from "./refusedBroadcasts.ts";
import type { RemoteServer } from "./remoteServer.ts";
import { majorityOf, witnessesOf } from "./serverPool.ts";

/**
 * Refusals of a transaction: ElectrumX and Fulcrum say 1, electrs 2 for what its daemon refuses (or nothing: 0), others pass on the daemon's code. JSON-RPC's own
 * codes, which servers also have for a daemon that is away, say nothing of it.
 */
const isRefusal = (fault: ServerFault): fault is ServerFault & { readonly kind: "rpc" } => fault.kind === "rpc" && fault.code > -32000;

/** Whom a transaction is given to. */
export type Receivers = {
  /** All that are connected. */
  readonly servers: readonly RemoteServer[];
  /** Below so many no word counts. */
  readonly minConnected: number;
  /** With what words a server refused, by its name, that turned out not to have it: it is not asked again after the same words. */
  readonly lacking: Map<string, string>;
  /** Who refused it so lately that it is not asked now, and what it said. */
  readonly refused: Refusals;
};

/** What became of a transaction, and who refused it without having it: where enough took it, who refused it at all, once these have answered. */
export type Broadcast = { readonly outcome: BroadcastOutcome; readonly refusals: Promise<Refusals> };
const broadcast = (outcome: BroadcastOutcome, refusals: Promise<Refusals> = Promise.resolve(new Map())): Broadcast => ({
  outcome,
  refusals,
});

/**
 * Gives a transaction to all servers at once and says what is known of it then (design D4). It is out when two have taken it or turn out
 * to have it, or the only one: one alone may say so and drop it, and whoever asks goes on sending. That it is refused counts by the word
 * of most.
 *
 * @param mined whether the index already shows it in a block
 */
export async function broadcastTx(
  { servers, minConnected, lacking, refused }: Receivers,
  ticker: string,
  tx: { readonly txid: string; readonly raw: Uint8Array },
  mined: boolean,
): Promise<Broadcast> {
  if (servers.length === 0)
    return broadcast(
      mined ? { kind: "already_known" } : { kind: "unknown", message: `No Electrum server of ${ticker} is connected.`, isUnsent: true },
    );
  const hex = Buffer.from(tx.raw).toString("hex");
  const sending = servers.map(async (server): Promise<ServerAnswer<string>> => {
    const said = refused.get(server.name);
    return said === undefined ? server.ask("blockchain.transaction.broadcast", [hex], parseTxid) : err(said);
  });
  const heard = Math.max(servers.length, minConnected);
  const need = mined ? 1 : witnessesOf(heard);
  const isTaken = (answer: ServerAnswer<string>): boolean => answer.ok && answer.value === tx.txid;
  // So many as are needed end the wait; the others go on taking it.
  const isOut = await atLeast(need, sending, isTaken);
  if (mined) return broadcast({ kind: "already_known" });
  // Liars may be enough, too: whoever refuses is not to be asked each time.
  const refusing = Promise.all(sending).then((answers) => refusalsOf(servers, answers));
  if (isOut) return broadcast({ kind: "accepted" }, refusing);
  const sent = await Promise.all(sending);
  const taken = sent.filter(isTaken).length;
  const others = servers.flatMap((server, i) => {
    const answer = sent[i];
    if (answer === undefined || answer.ok || refused.has(server.name)) return [];
    const words = serverFaultText(answer.error);
    return lacking.get(server.name) === words ? [] : [{ server, words }];
  });
  const known = await Promise.all(others.map(({ server }) => server.ask("blockchain.transaction.get", [tx.txid], parseRawTx)));
  for (const [i, answer] of known.entries()) {
    const other = others[i];
    if (other !== undefined && !answer.ok && answer.error.kind === "rpc") lacking.set(other.server.name, other.words);
  }
  const having = known.filter((a) => a.ok && Buffer.from(a.value).equals(tx.raw)).length;
  if (taken + having >= need) return broadcast({ kind: taken > 0 ? "accepted" : "already_known" });
  const replies = sent.map((answer, i) => ({ name: servers[i]?.name ?? "", answer, isTaken: isTaken(answer) }));
  const refusals = [...(await refusing)].filter(([name, fault]) => lacking.get(name) === serverFaultText(fault));
  return broadcast(verdictOf(replies, heard, ticker), Promise.resolve(new Map(refusals)));
}

function refusalsOf(servers: readonly RemoteServer[], answers: readonly ServerAnswer<string>[]): Refusals {
  const refusals = new Map<string, ServerFault>();
  for (const [i, { name }] of servers.entries()) {
    const answer = answers[i];
    if (answer !== undefined && !answer.ok && isRefusal(answer.error)) refusals.set(name, answer.error);
  }
  return refusals;
}

/** Whether so many of `answers` are as asked, as soon as they are; false when all are there. */
async function atLeast<T>(need: number, answers: readonly Promise<T>[], is: (answer: T) => boolean): Promise<boolean> {
  let left = need;
  const enough = new Promise<true>((resolve) => {
    for (const answer of answers) void answer.then((a) => is(a) && --left === 0 && resolve(true));
  });
  return Promise.race([enough, Promise.all(answers).then((all) => all.filter(is).length >= need)]);
}

type Reply = { readonly name: string; readonly answer: ServerAnswer<string>; readonly isTaken: boolean };

function verdictOf(replies: readonly Reply[], heard: number, ticker: string): BroadcastOutcome {
  const refusals = replies.flatMap(({ answer: a }) => (!a.ok && isRefusal(a.error) ? [a.error] : []));
  const [first] = refusals;
  if (first !== undefined && refusals.length >= majorityOf(heard)) return { kind: "rejected", code: first.code, message: first.message };
  const said = replies.map(({ name, answer, isTaken }) => {
    if (isTaken) return `${name}: it says that it took it`;
    return `${name}: ${answer.ok ? "it answered with something else than the transaction's id" : serverFaultText(answer.error)}`;
  });
  const who = replies.some(({ isTaken }) => isTaken) ? "Only one of the" : "None of the";
  return { kind: "unknown", message: `${who} ${ticker} servers took the broadcast: ${said.join("; ")}.` };
}
