import { Aborted, type Clock, sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { P2p, PeerId } from "../ports/network.ts";
import type { PeerRequests } from "./peerRequests.ts";
import { RequestPace } from "./requestPace.ts";

export type RelayQuestionsDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly requests: PeerRequests;
  readonly relays: () => readonly PeerId[];
  /** Ends what has no signal of its own. */
  readonly stopping: AbortSignal;
};

/** Questions of the application to peers, at the pace they answer at. */
export class RelayQuestions {
  readonly #deps: RelayQuestionsDeps;
  readonly #pace = new RequestPace();
  /** Relays that let the last question of ours run out: asked after the others. */
  readonly #silent = new Set<PeerId>();

  constructor(deps: RelayQuestionsDeps) {
    this.#deps = deps;
  }

  forget(peer: PeerId): void {
    this.#silent.delete(peer);
  }

  readonly ask: P2p["request"] = async (peer, request, signal = this.#deps.stopping) => {
    const { clock, requests } = this.#deps;
    const turn = this.#pace.takeTurn([peer], clock.nowMs());
    if (turn === undefined) return { kind: "err", message: "no answer: too many questions wait for this peer" };
    if (turn.waitMs > 0) await sleep(clock, turn.waitMs, signal);
    return requests.ask(peer, request, signal);
  };

  readonly askAny: P2p["requestAnyRelay"] = async (request, { not = [], signal = this.#deps.stopping } = {}) => {
    const { clock, log, requests, relays } = this.#deps;
    const tried = new Set(not);
    for (;;) {
      const left = relays().filter((peer) => !tried.has(peer));
      const awake = left.filter((peer) => !this.#silent.has(peer));
      const turn = this.#pace.takeTurn(awake.length > 0 ? awake : left, clock.nowMs());
      if (turn === undefined) return null;
      const { peer, waitMs } = turn;
      tried.add(peer);
      if (waitMs > 0) await sleep(clock, waitMs, signal);
      try {
        const answer = await requests.ask(peer, request, signal);
        this.#silent.delete(peer);
        if (answer.kind === "ok") return { peer, data: answer.data };
      } catch (cause) {
        if (!(cause instanceof Aborted) || signal.aborted) throw cause;
        if (relays().includes(peer)) this.#silent.add(peer);
        log.debug("relay_did_not_answer", { peer });
      }
    }
  };
}
