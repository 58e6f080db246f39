import type { BadMessage } from "../../core/message/msgpackReader.ts";
import type { Result } from "../../core/util/result.ts";
import type { Log } from "../../ports/log.ts";
import type { P2p, PeerId } from "../../ports/network.ts";

/** Relays asked for one thing when what they say cannot be read. */
const MAX_ATTEMPTS = 3;

export type AskingDeps = {
  readonly p2p: P2p;
  readonly log: Log;
  /** Relays that are asked only when no other answers. */
  readonly isDoubted: (relay: PeerId) => boolean;
};

/** What one relay said. Nothing of it is signed. */
export type Told<T> = { readonly peer: PeerId; readonly answer: T };

/**
 * Asks relays until one gives an answer that can be read; null when none does. Rejects with `Aborted` when `signal` fires.
 *
 * @param about what is asked, for the log
 * @param not relays to leave out
 */
export async function askAnyRelay<T>(
  { p2p, log, isDoubted }: AskingDeps,
  request: Uint8Array,
  parse: (bytes: Uint8Array) => Result<T, BadMessage>,
  { about, not = [], signal }: { readonly about: string; readonly not?: readonly PeerId[]; readonly signal: AbortSignal },
): Promise<Told<T> | null> {
  const tried = [...not];
  const doubted = p2p.relays().filter((relay) => isDoubted(relay));
  for (let attempt = 0; attempt < MAX_ATTEMPTS && !signal.aborted; attempt++) {
    const better = doubted.length > 0 ? await p2p.requestAnyRelay(request, { not: [...tried, ...doubted], signal }) : null;
    const answer = better ?? (await p2p.requestAnyRelay(request, { not: tried, signal }));
    if (!answer) return null;
    const parsed = parse(answer.data);
    if (parsed.ok) return { peer: answer.peer, answer: parsed.value };
    log.warn("relay_answer_unreadable", { about, peer: answer.peer, detail: parsed.error.detail });
    tried.push(answer.peer);
  }
  return null;
}
