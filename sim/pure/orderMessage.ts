import { parseOrderMessage as real } from "../../src/core/message/orderMessage.ts";
import { KEPT_ON_THE_WAY, remembered } from "./remembered.ts";

export * from "../../src/core/message/orderMessage.ts";

export const parseOrderMessage: typeof real = remembered(real, KEPT_ON_THE_WAY);
