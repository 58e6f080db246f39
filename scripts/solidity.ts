import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ROOT } from "./sourceFiles.ts";

/** A compiled contract; code is lower-case hex without `0x`. */
export type CompiledContract = {
  readonly name: string;
  readonly abi: readonly unknown[];
  /** `name(types)` of each function, and its four bytes. */
  readonly selectors: { readonly [signature: string]: string };
  readonly creationCode: string;
  readonly runtimeCode: string;
};

/**
 * Fixed, so that the same source gives the same bytes anywhere. `london` is the oldest set of rules that the compiler does not call
 * outdated; tests run the result under those of Istanbul (2019), which every chain of the coins file has. No metadata: its hash would
 * change with every comment.
 */
export const SOLC_SETTINGS = {
  optimizer: { enabled: true, runs: 10_000 },
  evmVersion: "london",
  metadata: { bytecodeHash: "none", appendCBOR: false },
} as const;

type Output = {
  readonly errors?: readonly { readonly formattedMessage: string }[];
  readonly contracts?: {
    readonly [file: string]: {
      readonly [name: string]: {
        readonly abi: readonly unknown[];
        readonly evm: {
          readonly methodIdentifiers: { readonly [signature: string]: string };
          readonly bytecode: { readonly object: string };
          readonly deployedBytecode: { readonly object: string };
        };
      };
    };
  };
};
type Solc = { version(): string; compile(input: string): string };

/** Compiles Solidity files of the repository, one contract of the file's name each. Throws for anything the compiler says, warnings too. */
export function compileSolidity(paths: readonly string[]): { readonly compiler: string; readonly contracts: readonly CompiledContract[] } {
  const solc: Solc = createRequire(import.meta.url)("solc");
  const sources = Object.fromEntries(paths.map((path) => [path, { content: readFileSync(join(ROOT, path), "utf8") }]));
  const outputSelection = { "*": { "*": ["abi", "evm.methodIdentifiers", "evm.bytecode.object", "evm.deployedBytecode.object"] } };
  const input = { language: "Solidity", sources, settings: { ...SOLC_SETTINGS, outputSelection } };
  const output: Output = JSON.parse(solc.compile(JSON.stringify(input)));
  if (output.errors !== undefined) throw new Error(output.errors.map((e) => e.formattedMessage).join("\n"));
  const contracts = paths.map((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1, -".sol".length);
    const made = output.contracts?.[path]?.[name];
    if (made === undefined) throw new Error(`${path} has no contract ${name}`);
    const { methodIdentifiers, bytecode, deployedBytecode } = made.evm;
    return { name, abi: made.abi, selectors: methodIdentifiers, creationCode: bytecode.object, runtimeCode: deployedBytecode.object };
  });
  return { compiler: solc.version(), contracts };
}
