/** Longest name compared; longer ones have no near name. Bounds the work of a hostile file. */
const MAX_NAME = 64;

/** Least number of inserted, deleted, replaced or swapped neighbouring characters (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replace);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) best = Math.min(best, (before[j - 2] ?? 0) + 1);
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return previous[b.length] ?? a.length;
}

/** The known name a person most likely meant, or null when none is within a third of its length. Ties: the first. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > MAX_NAME) return null;
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** "unknown key X in Y (did you mean Z?)" */
export function unknownKeyText(name: string, where: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  const shown = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name;
  return `unknown key ${JSON.stringify(shown)} in ${where}${near === null ? "" : ` (did you mean ${JSON.stringify(near)}?)`}`;
}
