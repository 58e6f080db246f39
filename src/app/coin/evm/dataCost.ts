import { ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { CALL_SAMPLE, gasBeside, MOST_BESIDE, sampleGas } from "../../../core/evm/dataCost.ts";
import type { CallRequest } from "../../../ports/accountChain.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { DATA_ROOM, type DataGas, MOST_DATA_GAS, NO_DATA, withRoom } from "./gasFigures.ts";

/** Wei for the data of one transaction above which nothing is begun or sent: a tenth of a coin, a thousand times what was ever asked. */
const MOST_DATA_WEI = 10n ** 17n;

/** What the data of one transaction may take by its block: gas beside what its call needs, and wei beside its gas. */
export type DataBound = { readonly gas: DataGas; readonly wei: bigint };
const NOTHING: DataBound = { gas: NO_DATA, wei: 0n };

/** Nothing where it is not known: `dataObstacle` says so, and what is signed all the same has `dataGasToSign`. */
export function dataBound(chain: Pick<EvmAccount["chain"], "dataCost">): DataBound {
  const cost = chain.dataCost();
  return cost === null ? NOTHING : { gas: withRoom(gasBeside(cost)), wei: cost.wei * DATA_ROOM };
}

/** Of its gas what is not the word of one node of two. */
export function sureDataGas(chain: Pick<EvmAccount["chain"], "dataCost">): DataGas {
  const cost = chain.dataCost();
  return cost === null ? NO_DATA : withRoom(gasBeside({ gas: cost.sureGas ?? cost.gas }));
}

/**
 * The same gas for what is signed whatever nodes say. Where nothing is known of it, as since a start at which nodes contradict each other or are silent, it is
 * as much as any swap reckons with: what is not needed is not paid, and with too little it would be in no block.
 */
export const dataGasToSign = (chain: Pick<EvmAccount["chain"], "dataCost">): DataGas =>
  chain.dataCost() === null ? MOST_DATA_GAS : dataBound(chain).gas;

/**
 * What a contract sends, as it is tried. On a chain that takes what data costs from the balance (OP stack) some nodes, anvil for one, take that from
 * whoever calls in a trial, too, and swap contracts hold no coins of their own: whoever has a contract send something pays for the data.
 */
export const fromContract = (chain: Pick<EvmAccount["chain"], "dataCost">, request: CallRequest): CallRequest => ({
  ...request,
  isFunded: dataBound(chain).wei > 0n,
});

type Account = Pick<EvmAccount, "chain" | "platform">;

/** Why nothing is sent at what data costs beside its gas, one sentence; null: nothing is in the way. */
export function dataFeeObstacle({ chain, platform }: Account): string | null {
  if (chain.dataCost() === null) return `what ${platform} takes for a transaction's data is not known yet`;
  const { wei } = dataBound(chain);
  return wei > MOST_DATA_WEI
    ? `the ${platform} nodes say that the data of one transaction may cost ${wei} wei, more than the ${MOST_DATA_WEI} that are paid`
    : null;
}

/** Why no swap is begun, and no secret shown, at what data costs, one sentence; null: nothing is in the way. */
export function dataObstacle(account: Account): string | null {
  const { gas } = dataBound(account.chain);
  return (
    dataFeeObstacle(account) ??
    (gas > MOST_DATA_GAS ? `every transaction of ${account.platform} needs ${gas} gas more than any swap reckons with` : null)
  );
}

/**
 * The same gas, asked for now: a chain that took nothing when it was last asked may have begun to. It is found by a transfer of nothing to
 * nobody with data of the same length: a claim itself cannot be estimated without showing its secret, and one with too little gas shows it
 * and earns nothing.
 *
 * @param most gas beside: more keeps who asks from something, and counts only where as many nodes say so as must agree
 * @returns `untold`: the nodes do not say, and what was known before is no answer, for data counted as gas then, or nodes contradict each other now;
 * `none`: they do not say, and it counted none
 */
export async function dataGasNow(
  { chain, address }: Pick<EvmAccount, "chain" | "address">,
  signal: AbortSignal,
  most = MOST_BESIDE,
): Promise<DataGas | "untold" | "none"> {
  const sample = { from: address, to: ZERO_ADDRESS, value: 0n, data: CALL_SAMPLE };
  const tried = await chain.estimateGas(sample, signal, sampleGas(most));
  if (tried.ok) return withRoom(gasBeside({ gas: tried.value }));
  const isDisputed = tried.error.kind === "Unreachable" && tried.error.isDisputed === true;
  return isDisputed || dataBound(chain).gas > 0n ? "untold" : "none";
}
