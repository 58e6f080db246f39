import type { P2p } from "../../ports/network.ts";

/** The same network, with an ear on what this node says: `onPublish` is called before each message leaves. */
export function watchedP2p(p2p: P2p, onPublish: (topic: string, data: Uint8Array) => void): P2p {
  return {
    peerId: p2p.peerId,
    isRelay: p2p.isRelay,
    publish(topic, data, fromPeer) {
      onPublish(topic, data);
      p2p.publish(topic, data, fromPeer);
    },
    subscribe: (topic) => p2p.subscribe(topic),
    unsubscribe: (topic) => p2p.unsubscribe(topic),
    setMessageHandler: (handler) => p2p.setMessageHandler(handler),
    request: (peer, request, signal) => p2p.request(peer, request, signal),
    requestAnyRelay: (request, options) => p2p.requestAnyRelay(request, options),
    setRequestHandler: (handler) => p2p.setRequestHandler(handler),
    relays: () => p2p.relays(),
    peers: () => p2p.peers(),
    mesh: () => p2p.mesh(),
    onRelaysChanged: (listener) => p2p.onRelaysChanged(listener),
    relayReady: (signal) => p2p.relayReady(signal),
  };
}
