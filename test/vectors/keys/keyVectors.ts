import { readFileSync } from "node:fs";

export type KeyFacts = {
  readonly seedA: {
    readonly passphrase: string;
    readonly secret: string;
    readonly publicKey: string;
    readonly publicId: string;
    readonly rmd160: string;
    readonly address60: string;
    readonly wif188: string;
    readonly sharedDbId: string;
    readonly segwit: { readonly rck: string; readonly doc: string };
    readonly cash: { readonly bitcoincash: string; readonly slptest: string };
  };
  readonly seedBch: { readonly passphrase: string; readonly secret: string; readonly cash: { readonly bchtest: string; readonly slptest: string } };
  readonly hd: { readonly mnemonic: string };
  readonly messages: {
    readonly text: string;
    readonly komodoPrefix: string;
    readonly bitcoinPrefix: string;
    readonly komodoDigest: string;
    readonly komodoSeedA: string;
    readonly bitcoinSeedA: string;
    readonly bitcoinSeedBch: string;
    readonly komodoHd0: string;
    readonly komodoHd1: string;
  };
};

export const keyFacts = JSON.parse(readFileSync(new URL("kdf-facts.json", import.meta.url), "utf8")) as KeyFacts;
