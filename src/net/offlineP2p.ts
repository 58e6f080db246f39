import { Aborted } from "../ports/clock.ts";
import type { P2p } from "../ports/network.ts";

/** The network of a node with `disable_p2p`: nobody is there, and nothing is sent. */
export function createOfflineP2p(): P2p {
  const nobody = (): Promise<never> => Promise.reject(new Aborted("the peer-to-peer network is switched off (disable_p2p)"));
  return {
    peerId: "",
    isRelay: false,
    publish: () => undefined,
    subscribe: () => undefined,
    unsubscribe: () => undefined,
    setMessageHandler: () => undefined,
    request: nobody,
    requestAnyRelay: () => Promise.resolve(null),
    setRequestHandler: () => undefined,
    relays: () => [],
    peers: () => [],
    mesh: () => ({ topics: new Map(), peerTopics: new Map(), connectedRelays: [] }),
    onRelaysChanged: () => () => undefined,
    relayReady: nobody,
  };
}
