import { expect, test } from "vitest";
import { ed25519PeerIdBytes, peerIdText } from "../gossip/peerId.ts";
import { toHex } from "../util/bytes.ts";
import { keyPairFromScalar } from "./keyPair.ts";
import { seedPeerKey } from "./seedPeerKey.ts";

test("the identity of a seed node is the reference's: ed25519 from SHA-256 of the node's secret", () => {
  const node = keyPairFromScalar(new Uint8Array(32).fill(1));
  if (!node) throw new Error("no key");
  const seed = seedPeerKey(node).reveal();
  expect(toHex(seed)).toBe("72cd6e8422c407fb6d098690f1130b7ded7ec2f7f5e1d30bd9d521f015363793");
  expect(peerIdText(ed25519PeerIdBytes(seed))).toBe("12D3KooWDMw3TJ2jeLRxeWtVrUkBw5FzKE8T1bMZK9wYsgmKxsTh");
});
