import { describe, expect, it } from "vitest";
import { InMemoryPersistenceStorageProvider } from "../../../src/index.ts";
import { collect } from "../../storage/file/support/fixture.ts";
import { redactedLog } from "../redactedHarness.ts";
import { seededNumbers } from "../../../src/testing/powerLoss/RecordedTree.ts";
import { testSeed } from "../../testSeed.ts";
import { KnownSecrets, SecretsOfAgents } from "../../../src/redaction/values/KnownSecrets.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `value-${at}`);

describe("the known secrets of agents", () => {
  it("are kept while an agent is open, and longer for the agents that were used last", () => {
    const secrets = new SecretsOfAgents();
    const isKnown = () => secrets.of("a").isIn("It is PIN-483920.");
    const readOthers = () => numbered(1_000).forEach((agentId) => secrets.of(agentId));
    secrets.open("a").add("PIN-483920");
    readOthers();
    expect(isKnown()).toBe(true);
    secrets.close("a");
    expect(isKnown()).toBe(true);
    readOthers();
    expect(isKnown()).toBe(false);
  });

  it("are kept without the large values once an agent is closed", () => {
    const secrets = new SecretsOfAgents();
    const { blobs } = secrets.open("a");
    for (const reference of ["one", "two"]) blobs.add(reference, Buffer.from('"PIN-483920"'));
    const isKnown = (reference: string) => blobs.expect(reference, "", (value) => secrets.of("a").add(value));
    expect(isKnown("one")).toBe(true);
    secrets.close("a");
    expect([isKnown("one"), isKnown("two")]).toEqual([true, false]);
    expect(secrets.of("a").isIn("It is PIN-483920.")).toBe(true);
  });

  it("are kept while this process owns the log of the agent", async () => {
    const { log } = new InMemoryPersistenceStorageProvider();
    const secrets = new SecretsOfAgents();
    const redacted = redactedLog(log, secrets);
    const owned = await redacted.open("a", { host: "h", processId: 1, nonce: "n" });
    await owned.append({ id: "1", records: [{ kind: "note", key: "k", value: "PIN-483920" } as never] }, 0);
    for (const agentId of numbered(1_000)) await collect(redacted.read(agentId));
    expect(secrets.of("a").isIn("It is PIN-483920.")).toBe(true);
    await owned.release();
    for (const agentId of numbered(1_000)) await collect(redacted.read(agentId));
    expect(secrets.of("a").isIn("It is PIN-483920.")).toBe(false);
  });
});

describe("the known secrets of an agent", () => {
  it("include the first one after an output with many others", () => {
    const secrets = new KnownSecrets();
    secrets.add({ pin: "PIN-483920" });
    secrets.add(numbered(100_000));
    expect(secrets.isIn("It is PIN-483920.")).toBe(true);
    expect(secrets.isIn("It is another text.")).toBe(false);
  });

  it("are found at the start, within and at the end of texts, by themselves and with escapes", () => {
    const secrets = new KnownSecrets();
    secrets.add([...numbered(1_000), 'a "quoted" text', 123_456]);
    for (const text of ["value-7", "value-7!", "<value-999>", "the value-0", '{"a \\"quoted\\" text":1}', "x123456x"])
      expect([text, secrets.isIn(text)]).toEqual([text, true]);
    for (const text of ["value", "value-", "Value-7", "quoted", "12345", ""])
      expect([text, secrets.isIn(text)]).toEqual([text, false]);
  });

  it(`are found in the same texts as by a search for each (seed ${testSeed})`, () => {
    const number = seededNumbers(testSeed);
    const random = (below: number) => Math.floor(number() * below);
    const textOf = (length: number) => Array.from({ length }, () => "ab"[random(2)]).join("");
    for (let round = 0; round < 20; round++) {
      const [secrets, known] = [new KnownSecrets(), numbered(300)];
      for (let at = 0; at < 100; at++) known.push(textOf(6 + random(12)));
      for (const text of known) secrets.add(text);
      for (let at = 0; at < 200; at++) {
        const text = textOf(random(24));
        expect([text, secrets.isIn(text)]).toEqual([text, known.some((secret) => text.includes(secret))]);
      }
    }
  });

  it("are found in about the same time if they start alike", () => {
    const timeOf = (count: number) => {
      const secrets = new KnownSecrets();
      for (let at = 0; at < count; at++) secrets.add(`${"a".repeat(6 + at)}b`);
      const text = "a".repeat(4_000);
      const start = process.cpuUsage();
      expect(secrets.isIn(text)).toBe(false);
      return process.cpuUsage(start).user;
    };
    const ratios = [1, 2, 3].map(() => timeOf(2_400) / timeOf(300));
    expect(Math.min(...ratios)).toBeLessThan(8);
  });

  it("include every text once there are too many", () => {
    const secrets = new KnownSecrets();
    secrets.add("PIN-483920");
    const long = "a long text ".repeat(10_000);
    for (let at = 0; !secrets.isIn("another text"); at++) {
      expect(at).toBeLessThan(1_000);
      secrets.add(`${at} ${long}`);
    }
    expect(secrets.isIn("PIN-483920")).toBe(true);
    expect(secrets.isIn("short")).toBe(false);
  });

  it("are remembered in the newest large values, even if no record refers to them", () => {
    const { blobs } = new KnownSecrets();
    const references = numbered(100);
    for (const reference of references) blobs.add(reference, new Uint8Array(1024 * 1024));
    const known = references.filter((reference) => blobs.expect(reference, "", () => {}));
    expect(known).toEqual(references.slice(-16));
  });

  it("include texts that were read redacted, also after many others", () => {
    const secrets = new KnownSecrets();
    secrets.addRestored("a text that was redacted");
    for (const text of numbered(20_000)) secrets.addRestored(text);
    expect(secrets.isIn("a text that was redacted")).toBe(true);
    expect(secrets.isIn("a text that was redacted as a part")).toBe(false);
  });
});
