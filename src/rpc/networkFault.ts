import type { FaultSpec } from "./fault.ts";

/** The node has no peers by configuration (reference rpc.md 2.7: a normal error instead of a crash). */
export const NO_NETWORK: FaultSpec<{ readonly kind: "NoNetwork" }> = {
  http: 500,
  when: "The node runs with `disable_p2p`.",
  text: () => "The peer-to-peer network is switched off on this node (disable_p2p)",
};
