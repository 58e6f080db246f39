import { readFileSync } from "node:fs";
import { bytesToHex } from "@noble/hashes/utils.js";
import { type ContractMethodUntyped, createContract, deployContract, type ParsedABI } from "micro-eth-signer/abi.js";

export type ContractName = "SwapnodeSwap" | "TestToken" | "SilentToken" | "HostileToken" | "Puppet";

export type Artifact = {
  readonly abi: ParsedABI;
  readonly selectors: { readonly [signature: string]: string };
  readonly creationCode: string;
  readonly runtimeCode: string;
  readonly methods: { readonly [name: string]: ContractMethodUntyped };
};

const FOLDER = new URL("../../../contracts/build/", import.meta.url);
const loaded = new Map<ContractName, Artifact>();

/** A contract as it is committed in contracts/build. */
export function artifact(name: ContractName): Artifact {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const read = JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
  const made: Artifact = { ...read, methods: createContract(read.abi as ParsedABI) };
  loaded.set(name, made);
  return made;
}

/** Arguments by name; one alone as it is; none: left out. Integers are `bigint`, addresses hex, `bytesN` bytes. */
export type Args = { readonly [name: string]: unknown } | bigint | string | boolean | Uint8Array;

/** Calldata with `0x`. */
export function encode(name: ContractName, method: string, args?: Args): string {
  const found = artifact(name).methods[method];
  if (found === undefined) throw new Error(`${name} has no ${method}`);
  return `0x${bytesToHex(found.encodeInput(args))}`;
}

/** What a deployment sends, with `0x`. */
export function creation(name: ContractName, args?: Args): string {
  const { abi, creationCode } = artifact(name);
  return `0x${args === undefined ? creationCode : deployContract(abi, creationCode, args).replace(/^0x/, "")}`;
}
