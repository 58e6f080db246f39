/** `L1Block` and `GasPriceOracle` of the OP stack, at their fixed addresses. */
const L1_BLOCK = "0x4200000000000000000000000000000000000015";
const ORACLE = "0x420000000000000000000000000000000000000f";
/** Answers what its storage has: at 0 for a call with data in it (`getL1Fee`), at 1 for a shorter one (`getOperatorFee`). */
const ORACLE_CODE = "0x36602410155460005260206000f3";
/** Prices and their scalars, where `L1Block` keeps them from Ecotone on. */
const SLOT = { baseFee: 1, scalars: 3, blobBaseFee: 7 } as const;
const SCALAR = 1_000_000n;

/** Anvil's command line for a chain that takes a fee for data, as soon as there are prices. */
export const OP_STACK_ARGS = ["--network", "optimism"] as const;

type Call = (method: string, ...params: readonly unknown[]) => Promise<unknown>;
const word = (value: bigint): string => `0x${value.toString(16).padStart(64, "0")}`;

type Receipt = { readonly gasUsed: string; readonly effectiveGasPrice: string };
async function receiptOf(call: Call, txid: unknown): Promise<Receipt> {
  for (let tries = 0; tries < 1_000; tries++) {
    const receipt = (await call("eth_getTransactionReceipt", txid)) as Receipt | null;
    if (receipt !== null) return receipt;
  }
  throw new Error("the transaction that was tried is in no block");
}

/**
 * Data costs something from now on, by a price of the other chain, wei; and the oracle names what a transaction half as long again as the
 * one that is tried pays.
 * @param mine makes a block, where the chain does not by itself
 * @returns what the transaction that was tried paid beside its gas
 */
export async function chargeForData(call: Call, l1BaseFee: bigint, mine: () => Promise<unknown> = async () => undefined): Promise<bigint> {
  const scalars = [0n, 32n, 64n, 96n, 128n].reduce((all, shift) => all | (SCALAR << shift), 0n);
  for (const [slot, value] of [
    [SLOT.baseFee, l1BaseFee],
    [SLOT.blobBaseFee, 1n],
    [SLOT.scalars, scalars],
  ] as const)
    await call("anvil_setStorageAt", L1_BLOCK, word(BigInt(slot)), word(value));
  // Anvil takes the fee for calls that are only tried, too, from whom they name, and from nobody where they name none; nodes of the OP stack do not.
  await call("anvil_setBalance", `0x${"0".repeat(40)}`, word(10n ** 24n));
  const [, from] = (await call("eth_accounts")) as string[];
  const balance = async (): Promise<bigint> => BigInt(String(await call("eth_getBalance", from, "latest")));
  const before = await balance();
  const data = `0x${Array.from({ length: 196 }, (_, i) => (((i * 167 + 91) % 255) + 1).toString(16).padStart(2, "0")).join("")}`;
  const txid = await call("eth_sendTransaction", { from, to: from, value: "0x0", data });
  await mine();
  const { gasUsed, effectiveGasPrice } = await receiptOf(call, txid);
  const paid = before - (await balance()) - BigInt(gasUsed) * BigInt(effectiveGasPrice);
  await call("anvil_setCode", ORACLE, ORACLE_CODE);
  await call("anvil_setStorageAt", ORACLE, word(0n), word((paid * 3n) / 2n));
  return paid;
}
