import type { RemoteServer } from "./remoteServer.ts";

/** The same, beginning with another one at each turn; those that answer late now come last: who waits for one would wait for it in each step. */
export function inTurn(all: readonly RemoteServer[], turn: number): readonly RemoteServer[] {
  const at = all.length === 0 ? 0 : turn % all.length;
  const turned = [...all.slice(at), ...all.slice(0, at)];
  return [...turned.filter((s) => !s.isSlow), ...turned.filter((s) => s.isSlow)];
}
