/** The same, beginning with another one at each turn. */
export const inTurn = <T>(all: readonly T[], turn: number): readonly T[] => {
  const at = all.length === 0 ? 0 : turn % all.length;
  return [...all.slice(at), ...all.slice(0, at)];
};
