/** Stands for a value in a statement that is built before the value is known. */
export class Placeholder {
  readonly #name: string;
  readonly #convert: ((value: never) => unknown) | undefined;

  constructor(name: string, convert?: (value: never) => unknown) {
    this.#name = name;
    this.#convert = convert;
  }

  /** The parameter that the statement gets for these values. */
  valueIn(values: object): unknown {
    const value = (values as Readonly<Record<string, unknown>>)[this.#name];
    if (value === undefined) throw new Error(`the statement has no value for ${this.#name}`);
    return this.#convert === undefined ? value : this.#convert(value as never);
  }

  converted(convert: (value: never) => unknown): Placeholder {
    return new Placeholder(this.#name, convert);
  }

  /** A statement whose text depended on a value would be wrong for other values. */
  [Symbol.toPrimitive](): never {
    throw new Error(`the text of a statement depends on the value of ${this.#name}`);
  }

  toJSON(): never {
    return this[Symbol.toPrimitive]();
  }
}

/** A parameter that is computed from a value: now, or at each call if a placeholder stands for the value. */
export function computed<T>(value: T, convert: (value: T) => unknown): unknown {
  return value instanceof Placeholder ? value.converted(convert) : convert(value);
}
