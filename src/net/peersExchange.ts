import { isPeerId, peerIdText } from "../core/gossip/peerId.ts";
import { exchangeableAddress } from "../core/gossip/routableAddress.ts";
import {
  encodeGetKnownPeers,
  encodeKnownPeers,
  type KnownPeer,
  MAX_KNOWN_PEERS,
  parseGetKnownPeers,
  parseKnownPeers,
} from "../core/message/peersExchange.ts";
import type { PeerConnection, PeerId } from "../ports/network.ts";
import { type Rng, shuffled } from "../ports/rng.ts";

type Deps = {
  readonly rng: Rng;
  /** Tcp port of the netid: addresses with another one belong to another network. */
  readonly tcpPort: number;
  readonly self: { readonly id: PeerId; readonly idBytes: Uint8Array };
  /** Multiaddress at which others can reach this node, when it listens. */
  readonly ownAddress: string | undefined;
};

/** What `/peers-exchange/2` says and hears (p2p-wire.md 5.4). Only globally routable addresses are ever exchanged. */
export class PeersExchange {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  readonly request = encodeGetKnownPeers(MAX_KNOWN_PEERS);

  /**
   * @param relays connected relays; those this node has dialled are reachable and can be passed on
   * @returns undefined when the request is malformed or wants more than 20 peers, as in the reference
   */
  answer(payload: Uint8Array, asker: PeerId, relays: readonly PeerConnection[]): Uint8Array | undefined {
    const count = parseGetKnownPeers(payload);
    if (!count.ok || count.value > MAX_KNOWN_PEERS) return undefined;
    const { self, ownAddress, rng } = this.#deps;
    const known: KnownPeer[] = [];
    const add = (idBytes: Uint8Array, address: string): void => {
      const shown = exchangeableAddress(address, this.#deps.tcpPort);
      if (shown !== undefined) known.push({ peerId: idBytes, addresses: [shown] });
    };
    if (ownAddress !== undefined) add(self.idBytes, ownAddress);
    for (const { id, idBytes, address, direction } of relays) if (direction === "outbound" && id !== asker) add(idBytes, address);
    return encodeKnownPeers(shuffled(rng, known).slice(0, count.value));
  }

  /** One address of each peer in an answer; none when any part of it breaks the rules. */
  read(payload: Uint8Array): readonly { readonly peer: PeerId; readonly address: string }[] {
    const answer = parseKnownPeers(payload);
    if (!answer.ok) return [];
    const found: { peer: PeerId; address: string }[] = [];
    for (const { peerId, addresses } of answer.value) {
      const shown = addresses.map((text) => exchangeableAddress(text, this.#deps.tcpPort));
      const [address] = shown;
      if (address === undefined || shown.includes(undefined) || !isPeerId(peerId)) return [];
      // With several each, one answer could push out everything learned from others.
      found.push({ peer: peerIdText(peerId), address: `${address}/p2p/${peerIdText(peerId)}` });
    }
    return found;
  }
}
