import type { Method } from "../define.ts";
import { banPubkey } from "../methods/banPubkey.ts";
import { getDirectlyConnectedPeers } from "../methods/getDirectlyConnectedPeers.ts";
import { getMyPeerId } from "../methods/getMyPeerId.ts";
import { getPublicKey } from "../methods/getPublicKey.ts";
import { getPublicKeyHash } from "../methods/getPublicKeyHash.ts";
import { getGossipMesh, getGossipPeerTopics, getGossipTopicPeers, getRelayMesh } from "../methods/gossipMeshes.ts";
import { help } from "../methods/help.ts";
import { listBannedPubkeys } from "../methods/listBannedPubkeys.ts";
import { metrics } from "../methods/metrics.ts";
import { stop } from "../methods/stop.ts";
import { unbanPubkeys } from "../methods/unbanPubkeys.ts";
import { version } from "../methods/version.ts";

/** Counterparties, peers and the node itself. In the order of the documents. */
export const NETWORK_METHODS: readonly Method[] = [
  listBannedPubkeys,
  banPubkey,
  unbanPubkeys,
  getPublicKey,
  getPublicKeyHash,
  getMyPeerId,
  getDirectlyConnectedPeers,
  getGossipMesh,
  getRelayMesh,
  getGossipPeerTopics,
  getGossipTopicPeers,
  version,
  metrics,
  help,
  stop,
];
