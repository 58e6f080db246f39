import { parseEnvelope as real } from "../../src/core/message/envelope.ts";
import { KEPT_ON_THE_WAY, remembered } from "./remembered.ts";

export * from "../../src/core/message/envelope.ts";

/** With it, what it works out when asked for the first time: the digest of the payload. */
export const parseEnvelope: typeof real = remembered(real, KEPT_ON_THE_WAY);
