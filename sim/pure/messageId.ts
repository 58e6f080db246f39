import { messageId as real } from "../../src/core/gossip/messageId.ts";
import type { Hash64 } from "../../src/core/gossip/sipHash.ts";
import { KEPT_ON_THE_WAY, remembered } from "./remembered.ts";

export * from "../../src/core/gossip/messageId.ts";

/** Ids of one message's bytes, by the bytes of its number. */
const idsOf = remembered((_data): Map<Uint8Array | undefined, Hash64> => new Map(), KEPT_ON_THE_WAY);

export const messageId: typeof real = (data, seqno) => {
  const ids = idsOf(data);
  const known = ids.get(seqno);
  if (known) return known;
  const id = real(data, seqno);
  ids.set(seqno, id);
  return id;
};
