import { it } from "vitest";
import { engines } from "../storage/engines/engines.ts";
import { processOwner } from "../../src/storage/ReleasableLog.ts";
it.each(engines.filter(({ name }) => name !== "in DynamoDB" && name !== "in Postgres"))(
  "x $name",
  async ({ name, harness }) => {
    const { log } = await harness();
    const say: unknown[] = [];
    const open = async () => {
      const o = await log.open("a", processOwner());
      say.push([o.generation, o.position]);
      return o;
    };
    let o = await open();
    for (let n = 1; n <= 10; n++) await o.append({ id: `1-${n}`, records: [{ kind: "x" } as never] }, n - 1);
    await o.drop();
    o = await open();
    await o.release();
    o = await open();
    await o.drop();
    o = await open();
    await o.drop();
    o = await open();
    await o.append({ id: "z", records: [{ kind: "x" } as never] }, o.position);
    await o.release();
    o = await open();
    await o.release();
    console.log(name, JSON.stringify(say));
  },
);
