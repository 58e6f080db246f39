/** How one error kind of a method is shown to the client. */
export type FaultSpec<E> = {
  /** Status of the versioned form. A flat failure is 500 unless `flatHttp` says otherwise (reference rpc.md 1.2). */
  readonly http: number;
  readonly flatHttp?: number;
  /** When it happens, for the documents. */
  readonly when: string;
  /** The sentence for people; clients of KDF match on it. */
  readonly text: (error: E) => string;
  /** `error_type`, where it is not the kind itself. */
  readonly type?: string;
  /** `error_data`; left out when undefined. */
  readonly data?: (error: E) => unknown;
  /** Keys beside `error` in the flat form. */
  readonly flatExtra?: (error: E) => { readonly [key: string]: unknown };
};

/** One entry per kind of `E`. */
export type FaultTable<E extends { readonly kind: string }> = { readonly [K in E["kind"]]: FaultSpec<Extract<E, { readonly kind: K }>> };

/** A failure ready for either envelope. */
export type Fault = {
  /** As declared; `type` is what the client sees of it. */
  readonly kind: string;
  readonly http: number;
  readonly flatHttp: number;
  readonly text: string;
  readonly type: string;
  readonly data: unknown;
  readonly flatExtra: { readonly [key: string]: unknown };
};

export function faultOf<E extends { readonly kind: string }>(spec: FaultSpec<E>, error: E): Fault {
  return {
    kind: error.kind,
    http: spec.http,
    flatHttp: spec.flatHttp ?? 500,
    text: spec.text(error),
    type: spec.type ?? error.kind,
    data: spec.data?.(error),
    flatExtra: spec.flatExtra?.(error) ?? {},
  };
}
