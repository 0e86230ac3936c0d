import {
  AIAgent,
  type AnyTool,
  InMemoryPersistenceStorageProvider,
  Persistence,
  strategy,
  tool,
} from "agent-persistence";
import { scriptedModel } from "agent-persistence/testing";
import fc from "fast-check";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { schemaDigest } from "../../../src/persistence/versions/CodeStructure.ts";
import { expandedText } from "./support/expandedShape.ts";

describe("schema digest", () => {
  it("keeps the digests that earlier versions stored", () => {
    const shared = z.object({ at: z.iso.datetime(), by: z.string().min(2).max(9) });
    const tree = z.object({ name: z.string(), children: z.array(z.lazy((): z.ZodType => tree)) });
    const accessor = z.object({
      get next() {
        return accessor.optional();
      },
    });
    const digests = [
      z.object({ id: z.uuid(), kind: z.enum(["b", "a"]), count: z.int().positive().default(1) }),
      z.object({ first: shared, second: z.union([shared, z.null()]), rest: z.record(z.string(), shared) }),
      tree,
      accessor,
      z.tuple([z.string().regex(/a+/u), z.literal(3n), z.date()]).rest(z.coerce.number()),
    ].map(digestOf);
    expect(digests).toEqual(["hqSlY0VL2SV", "RRFcSy3_ddz", "NtiUs82hqEe", "jl-ZczlO5rr", "__2Hcfrn64Y"]);
  });

  it("keeps the stored digest of every small schema", () => {
    fc.assert(
      fc.property(fc.array(plan, { minLength: 1, maxLength: 5 }), (plans) => {
        const [schema] = schemasOf(plans);
        fc.pre(expandedText(schema!).length < 100_000);
        expect(digestOf(schema!)).toBe(sha256.base64url(expandedText(schema!)).slice(0, 11));
      }),
      { numRuns: 500 },
    );
  });

  it("keeps the stored digest of a large schema that shares no part", () => {
    const schema = z.object(Object.fromEntries(Array.from({ length: 6000 }, (_, n) => [`f${n}`, z.string().max(n)])));
    expect(digestOf(schema)).toBe(sha256.base64url(expandedText(schema)).slice(0, 11));
  });

  it("visits shared schemas a limited number of times", () => {
    const [one, visits] = doubled(16, z.string());
    const digest = digestOf(one);
    expect(visits()).toBeLessThan(20_000);
    expect(digestOf(doubled(16, z.string())[0])).toBe(digest);
    expect(digestOf(doubled(16, z.number())[0])).not.toBe(digest);
    expect(digestOf(doubled(15, z.string())[0])).not.toBe(digest);
  });

  it("visits schemas that refer to each other a limited number of times", () => {
    const [one, visits] = mutual(8, z.string());
    const digest = digestOf(one);
    expect(visits()).toBeLessThan(20_000);
    expect(digestOf(mutual(8, z.string())[0])).toBe(digest);
    expect(digestOf(mutual(8, z.number())[0])).not.toBe(digest);
  });

  it("ends the recursion at a getter that creates its schema on every call", () => {
    const nested = (leaf: z.ZodType): z.ZodType => {
      const fresh = (): z.ZodType => z.object({ leaf, child: z.lazy(fresh).optional() });
      return fresh();
    };
    expect(digestOf(nested(z.string()))).toBe(digestOf(nested(z.string())));
    expect(digestOf(nested(z.string()))).not.toBe(digestOf(nested(z.number())));
  });

  it("runs a tool whose schema is created on every call of its getter", async () => {
    const fresh = (): z.ZodType => z.object({ child: z.lazy(fresh).optional() });
    await expect(running(fresh())).resolves.toMatchObject({ output: "x" });
  });
});

const sha256 = {
  base64url: (data: string | Uint8Array) => createHash("sha256").update(data).digest("base64url"),
  hex: (data: string | Uint8Array) => createHash("sha256").update(data).digest("hex"),
};

function digestOf(schema: z.ZodType): string {
  return schemaDigest(schema, sha256);
}

/** A schema that refers to others by their number. */
const plan = fc.record({
  kind: fc.constantFrom("object", "accessor", "lazy", "array", "union", "text", "sameGetter"),
  to: fc.tuple(fc.nat(9), fc.nat(9)),
});

type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

function schemasOf(plans: readonly Plan[]): z.ZodType[] {
  const schemas: z.ZodType[] = [];
  const getters = plans.map((_, at) => () => schemas[at]!);
  const later = (to: number) => z.lazy(getters[to % plans.length]!);
  plans.forEach(({ kind, to: [a, b] }, at) => {
    // Only a schema that exists can be used without a getter.
    const direct = (to: number) => schemas[to % Math.max(at, 1)] ?? later(to);
    const other = () => schemas[b % plans.length]!;
    schemas.push(
      {
        object: () => z.object({ a: later(a), b: direct(b).optional() }),
        accessor: () =>
          z.object({
            a: direct(a),
            get b() {
              return other();
            },
          }),
        lazy: () => z.object({ a: z.lazy(other), b: z.lazy(other) }),
        sameGetter: () => later(a),
        array: () => z.array(direct(a)).min(b),
        union: () => z.union([direct(a), later(b), z.null()]),
        text: () => z.string().max(a),
      }[kind]!(),
    );
  });
  return schemas;
}

/** Returns a schema that contains each part twice, and the number of visits. */
function doubled(levels: number, leaf: z.ZodType): readonly [z.ZodType, () => number] {
  const visits = new Visits();
  let schema = leaf;
  for (let level = 0; level < levels; level += 1) schema = visits.of(z.object({ a: schema, b: schema }));
  return [schema, () => visits.count];
}

/** Returns the first of several schemas that all refer to all, and the number of visits. */
function mutual(count: number, leaf: z.ZodType): readonly [z.ZodType, () => number] {
  const visits = new Visits();
  const schemas: z.ZodType[] = [];
  const names = Array.from({ length: count }, (_, at) => at);
  for (const _ of names) {
    const fields = names.map((to) => [`f${to}`, z.lazy(() => schemas[to]!).optional()] as const);
    schemas.push(visits.of(z.object({ leaf, ...Object.fromEntries(fields) })));
  }
  return [schemas[0]!, () => visits.count];
}

/** Counts how often the definitions of schemas are read. */
class Visits {
  count = 0;

  of(schema: z.ZodType): z.ZodType {
    const { def } = schema._zod;
    Object.defineProperty(schema._zod, "def", { get: () => ((this.count += 1), def) });
    return schema;
  }
}

function running(inputSchema: z.ZodType) {
  const grow = tool({ name: "grow", description: "", inputSchema, effect: "none", execute: () => 1 }) as AnyTool;
  const graph = strategy<string, string>("growing", (g) => {
    const only = g.node("only", (text: string) => text);
    g.edge(g.start, only);
    g.edge(only, g.finish);
  });
  const agent = new AIAgent({ llmModel: "m", promptExecutor: scriptedModel([]), strategy: graph, tools: [grow] });
  agent.install(Persistence, { storage: new InMemoryPersistenceStorageProvider() });
  return agent.run("x");
}
