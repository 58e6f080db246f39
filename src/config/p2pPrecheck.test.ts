import { expect, test } from "vitest";
import { type P2pSettings, p2pRole, WITHOUT_SEEDS } from "./p2pPrecheck.ts";

const NOTHING: P2pSettings = {
  seedNodes: null,
  iAmSeed: false,
  isBootstrapNode: null,
  disableP2p: null,
  inMemory: false,
  hasIdentity: true,
};
const role = (settings: Partial<P2pSettings>) => p2pRole({ ...NOTHING, ...settings });

test.each<[string, Partial<P2pSettings>, string]>([
  ["bootstrap without seed", { isBootstrapNode: true }, "Bootstrap node must also be a seed node."],
  [
    "bootstrap with seeds",
    { isBootstrapNode: true, iAmSeed: true, seedNodes: ["1.2.3.4"] },
    "Bootstrap node cannot have seed nodes to connect.",
  ],
  ["off with seeds", { disableP2p: true, seedNodes: ["1.2.3.4"] }, "Cannot disable P2P while seed nodes are configured."],
  ["off in memory", { disableP2p: true, inMemory: true }, "Cannot disable P2P while using in-memory P2P mode."],
  ["a seed that is off", { disableP2p: true, iAmSeed: true }, "Seed nodes cannot disable P2P."],
  [
    "a seed without keys",
    { iAmSeed: true, isBootstrapNode: true, hasIdentity: false },
    "Seed node requires a persistent identity to generate its P2P key.",
  ],
])("%s is refused", (_, settings, text) => {
  expect(role(settings)).toEqual({ ok: false, error: `Precheck failed: '${text}'` });
});

test.each<[string, Partial<P2pSettings>, string]>([
  ["nothing at all", {}, "Bootstrap node must also be a seed node."],
  [
    "not bootstrap, empty list",
    { isBootstrapNode: false, seedNodes: [] },
    "Non-bootstrap node must have seed nodes configured to connect.",
  ],
  ["a seed without flags or list", { iAmSeed: true }, "Seed nodes cannot disable P2P."],
])("%s is refused with what to write", (_, settings, text) => {
  expect(role(settings)).toEqual({ ok: false, error: `Precheck failed: '${text}': ${WITHOUT_SEEDS}` });
});

test.each<[string, Partial<P2pSettings>, object]>([
  ["a light node", { seedNodes: ["127.0.0.1"] }, { disabled: false, isSeed: false, isBootstrap: false }],
  ["an explicit first seed", { iAmSeed: true, isBootstrapNode: true }, { disabled: false, isSeed: true, isBootstrap: true }],
  ["a seed with an empty list", { iAmSeed: true, seedNodes: [] }, { disabled: false, isSeed: true, isBootstrap: true }],
  ["a further seed", { iAmSeed: true, seedNodes: ["seed.example"] }, { disabled: false, isSeed: true, isBootstrap: false }],
  ["a node that is off", { disableP2p: true }, { disabled: true, isSeed: false, isBootstrap: false }],
])("%s starts", (_, settings, expected) => {
  expect(role(settings)).toMatchObject({ ok: true, value: expected });
});
