/**
 * A bug to plant: one place of one file, changed. It must be one that a tired person could write and that types, lint
 * and a look at the happy path let through.
 */
export type PlantedBug = {
  /** What goes wrong, in words a user would understand. Unique in the whole table. */
  readonly name: string;
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  readonly caughtBy: Catcher;
};

/**
 * Who must notice: test files of `npm test` of which at least one test goes red, or a program of the repository
 * (arguments for Node) that must end with another code than 0 and, where `says` is given, write those words.
 */
export type Catcher = { readonly tests: readonly string[] } | { readonly program: readonly string[]; readonly says?: string };

/** A bug that tests must notice. */
export const bug = (name: string, file: string, find: string, replace: string, ...tests: readonly string[]): PlantedBug => ({
  name,
  file,
  find,
  replace,
  caughtBy: { tests },
});
