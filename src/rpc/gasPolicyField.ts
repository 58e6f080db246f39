import type { GasPolicy } from "../core/evm/evmKind.ts";
import { err, ok } from "../core/util/result.ts";
import type { FaultSpec } from "./fault.ts";
import { type Read, readString } from "./field.ts";

/** As KDF writes them (reference rpc.md 5.4). */
export const GAS_POLICY_NAMES = ["Legacy", "Low", "Medium", "High"] as const;
type Name = (typeof GAS_POLICY_NAMES)[number];
const POLICIES: { readonly [N in Name]: GasPolicy } = { Legacy: "legacy", Low: "low", Medium: "medium", High: "high" };

export const gasPolicyName = (policy: GasPolicy): Name => GAS_POLICY_NAMES.find((name) => POLICIES[name] === policy) ?? "Legacy";

export const readGasPolicy: Read<GasPolicy> = (value) => {
  const text = readString(value);
  if (!text.ok) return text;
  const name = GAS_POLICY_NAMES.find((known) => known === text.value);
  return name
    ? ok(POLICIES[name])
    : err(`unknown variant \`${text.value.slice(0, 32)}\`, expected one of \`Legacy\`, \`Low\`, \`Medium\`, \`High\``);
};

export const gasPolicySchema = { type: "string", enum: [...GAS_POLICY_NAMES] };

export type NoGasPolicy = { readonly kind: "NotSupported"; readonly coin: string };

export const noGasPolicy: FaultSpec<NoGasPolicy> = {
  http: 400,
  when: "The coin is on no account chain.",
  text: ({ coin }) => `${coin} is on no account chain and pays no gas`,
  data: ({ coin }) => coin,
};
