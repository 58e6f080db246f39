/** A chain of the network, as its nodes and whoever started it use it. */
export type DevChain = {
  /** With user and password in it, where it has such. */
  readonly rpcUrl: string;
  readonly daemon: { call(method: string, params?: unknown): Promise<unknown> };
  /** Electrum servers over it: host and port, and how to talk to them where it is not plain TCP. */
  readonly electrum?: readonly { readonly url: string; readonly protocol?: string }[];
  /** Coins of an account chain: through what nodes it is reached, if not through `rpcUrl`. */
  readonly urls?: readonly string[];
  /** Coins of an account chain: the swap contract, and the token's own. With checksum. */
  readonly contracts?: { readonly swap: string; readonly token: string | null };
  /** Pays an address; a block soon has it. */
  fund(address: string, amount: string): Promise<void>;
  /** What the chain's newest block says an address has, whole coins. Absent: the nodes are asked. */
  balance?(address: string): Promise<string>;
  close(): Promise<void>;
};
