/** One measured value of the node: a count that only grows, or how much there is now. */
export type Metric = {
  readonly type: "gauge" | "counter";
  /** Names of parts separated by dots, lower case: `p2p.connected_peers.count`. */
  readonly key: string;
  readonly labels: { readonly [name: string]: string };
  readonly value: number;
};

/** All values at this moment. Cheap: monitors ask every few seconds. */
export type ReadMetrics = () => readonly Metric[];
