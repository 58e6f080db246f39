import type { Generated } from "../gen.ts";
import { type CompiledContract, compileSolidity, SOLC_SETTINGS } from "../solidity.ts";

const PRODUCT = ["SwapnodeSwap", "TransferProbe"].map((name) => `contracts/${name}.sol`);
const FOR_TESTS = ["HostileToken", "Puppet", "SilentToken", "TestToken"].map((name) => `contracts/test/${name}.sol`);
type Code = "creation" | "runtime";
/** What the program itself carries: the swap contract, what tries tokens in place of an account, and the token of private networks. */
const CARRIED: { readonly [name: string]: { readonly constant: string; readonly what: string; readonly has: readonly Code[] } } = {
  SwapnodeSwap: { constant: "SWAPNODE_SWAP", what: "the swap contract", has: ["creation", "runtime"] },
  TransferProbe: { constant: "TRANSFER_PROBE", what: "the probe of token transfers", has: ["runtime"] },
  // Its decimals are written into the code at deployment, so that there is no one runtime code.
  TestToken: { constant: "TEST_TOKEN", what: "a plain ERC-20 token that anybody may mint, for private networks", has: ["creation"] },
};

const lowerFirst = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

function artifact(contract: CompiledContract, compiler: string): Generated {
  const content = `${JSON.stringify({ compiler, settings: SOLC_SETTINGS, ...contract }, null, 2)}\n`;
  return { path: `contracts/build/${contract.name}.json`, content };
}

function carried({ name, creationCode, runtimeCode }: CompiledContract): Generated[] {
  const entry = CARRIED[name];
  if (entry === undefined) return [];
  const { constant, what, has } = entry;
  const lines = [`// Written by npm run gen from contracts/${name === "TestToken" ? "test/" : ""}${name}.sol, do not edit.`];
  if (has.includes("creation")) {
    lines.push(
      "",
      `/** Code that deploys ${what}; hex without \`0x\`. Constructor arguments follow it. */`,
      `export const ${constant}_CREATION_CODE =\n  "${creationCode}";`,
    );
  }
  if (has.includes("runtime")) {
    lines.push(
      "",
      `/** What \`eth_getCode\` shows where ${what} stands; hex without \`0x\`. */`,
      `export const ${constant}_RUNTIME_CODE =\n  "${runtimeCode}";`,
    );
  }
  return [{ path: `src/core/evm/contract/${lowerFirst(name)}.ts`, content: `${lines.join("\n")}\n` }];
}

/** The compiled contracts: interface and code as JSON in contracts/build, code as constants in src. */
export function generate(): Generated[] {
  const { compiler, contracts } = compileSolidity([...PRODUCT, ...FOR_TESTS]);
  return contracts.flatMap((contract) => [artifact(contract, compiler), ...carried(contract)]);
}
