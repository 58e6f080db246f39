/** Major version of a node's software as KDF and this node print it: `3.0.0-beta_…`, `2.5.1-beta_…`. */
const GENERATION = /^(\d{1,3})\./;
/** The KDF generation whose fee rule a profile is; nodes of another cannot finish a swap with it (design D2). */
const PROFILE_GENERATION: { readonly [profile: string]: string } = { "kdf-2": "2", "kdf-3": "3" };

/**
 * Whether the version a node names itself by is of a generation whose swaps fail with those of this profile. A version
 * that says nothing, and 0 (this project's own), are of none.
 */
export function isOtherGeneration(profile: string, version: string): boolean {
  const theirs = GENERATION.exec(version)?.[1];
  const own = PROFILE_GENERATION[profile];
  return own !== undefined && theirs !== undefined && theirs !== "0" && theirs !== own;
}
