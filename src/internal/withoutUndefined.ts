type IsOptional<Value> = unknown extends Value ? false : undefined extends Value ? true : false;

/** Makes fields that can be `undefined` optional. A field of type `unknown` stays required. */
export type WithoutUndefined<Fields> = {
  [Key in keyof Fields as IsOptional<Fields[Key]> extends true ? never : Key]: Fields[Key];
} & {
  [Key in keyof Fields as IsOptional<Fields[Key]> extends true ? Key : never]?: Exclude<Fields[Key], undefined>;
};

/** Returns a copy without `undefined` fields, in the same order. */
export function withoutUndefined<const Fields extends object>(fields: Fields): WithoutUndefined<Fields> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as WithoutUndefined<Fields>;
}
