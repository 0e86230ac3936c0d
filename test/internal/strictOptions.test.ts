import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { checkSchema, strictOptions } from "../../src/internal/options/checkSchema.ts";

const schema = z.object({
  nested: strictOptions(() => ({ storage: z.string().optional(), maxRetries: z.number().optional() })),
});
const refusal = (options: unknown) => {
  try {
    return checkSchema(schema, { nested: options }, "test options");
  } catch (error) {
    return error;
  }
};

describe("strictOptions", () => {
  it("names an unknown option and the nearest known option", () => {
    expect(refusal({ storge: "memory" })).toMatchObject({
      code: "invalid_input",
      message: 'Invalid test options: at "nested": unknown option "storge"; did you mean "storage"?',
    });
  });

  it("lists the options if no known option is near", () => {
    expect(refusal({ color: "red" })).toMatchObject({
      problems: [{ path: "nested", expected: 'unknown option "color"; the options are storage, maxRetries' }],
    });
  });

  it("names every unknown option", () => {
    expect(refusal({ storge: 1, maxRetry: 2 })).toMatchObject({
      problems: [
        {
          path: "nested",
          expected:
            'unknown option "storge"; did you mean "storage"?, unknown option "maxRetry"; did you mean "maxRetries"?',
        },
      ],
    });
  });

  it("accepts known options, present or omitted", () => {
    expect(refusal({ storage: "memory" })).toEqual({ nested: { storage: "memory" } });
    expect(refusal({})).toEqual({ nested: {} });
  });

  class Settings {
    readonly storage = "memory";
  }
  const received: readonly (readonly [string, unknown])[] = [
    ["a Promise (did you forget `await`?)", Promise.resolve({ storage: "memory" })],
    ["a Map", new Map([["storage", "memory"]])],
    ["a Date", new Date()],
    ["an Error", new Error("x")],
    ["an instance of Settings", new Settings()],
    ["an instance of Object", Object.create({ storage: "memory" })],
    ["an instance of an unnamed class", Object.create(Object.create(null))],
    ["array", []],
    ["function", () => undefined],
    ["null", null],
    ["undefined", undefined],
    ["string", "memory"],
  ];

  it.each(received)("refuses a value that is not a plain object: %s", (kind, options) => {
    expect(refusal(options)).toMatchObject({
      problems: [{ path: "nested", expected: `expected a plain object, received ${kind}` }],
    });
  });

  it("accepts a plain object without a prototype, frozen, or of another realm", () => {
    const foreign: unknown = runInNewContext('({ storage: "memory" })');
    const bare = Object.assign(Object.create(null) as object, { storage: "memory" });
    for (const options of [foreign, bare, Object.freeze({ storage: "memory" })])
      expect(refusal(options)).toEqual({ nested: { storage: "memory" } });
  });
});
