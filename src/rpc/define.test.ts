import { expect, test } from "vitest";
import { z } from "zod";
import { err, ok } from "../core/util/result.ts";
import { defineMethod } from "./define.ts";

type Failure = { readonly kind: "Empty" } | { readonly kind: "TooLong"; readonly length: number };

const declaration = {
  name: "count",
  style: "flat" as const,
  summary: "",
  source: "",
  params: z.object({ text: z.string() }),
  result: z.number(),
  async handle({ text }: { text: string }) {
    if (text === "") return err({ kind: "Empty" as const });
    return text.length > 3 ? err({ kind: "TooLong" as const, length: text.length }) : ok(text.length);
  },
  examples: [],
};
const empty = { http: 400, when: "", text: () => "empty" };
const tooLong = { http: 400, when: "", text: ({ length }: { readonly length: number }) => `${length} is too long` };

test("an error kind without an entry, or an entry without a kind, does not compile", () => {
  const count = defineMethod<Failure>()({ ...declaration, errors: { Empty: empty, TooLong: tooLong } });
  expect(Object.keys(count.errors)).toEqual(["Empty", "TooLong"]);
  // @ts-expect-error TooLong has no entry
  defineMethod<Failure>()({ ...declaration, errors: { Empty: empty } });
  // @ts-expect-error Other is no kind of this method
  defineMethod<Failure>()({ ...declaration, errors: { Empty: empty, TooLong: tooLong, Other: empty } });
  // @ts-expect-error the handler returns kinds this method does not name
  defineMethod<{ readonly kind: "Empty" }>()({ ...declaration, errors: { Empty: empty } });
  // @ts-expect-error the handler's value is not the declared result
  defineMethod<Failure>()({ ...declaration, result: z.string(), errors: { Empty: empty, TooLong: tooLong } });
});
