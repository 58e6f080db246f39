import { describe } from "vitest";
import { startElectrumxNetwork } from "./support/lightNetwork.ts";
import { testSwapsOnServers } from "./support/lightSwaps.ts";
import { electrumxSkipReason, isElectrumxSkipped } from "./support/programs.ts";

describe.skipIf(isElectrumxSkipped)(`Swaps on Electrum servers${electrumxSkipReason}`, () => {
  testSwapsOnServers("ElectrumX by TCP, TLS and WebSocket", () => startElectrumxNetwork());
});
