//: mod
const mod = (a, b) => { // the remainder has the sign of b
  const r = a % b;
  if (r === 0) return b < 0 ? -0 : 0;
  return (r < 0) !== (b < 0) ? r + b : r;
};

//: quotient
const quotient = (a, b) => { // as Python's a // b of doubles
  if (b === 0) return a / b;
  const r = a % b;
  const q = (a - r) / b - (r !== 0 && (r < 0) !== (b < 0) ? 1 : 0);
  if (q === 0) return Math.sign(a / b) * 0;
  return Math.floor(q) + (q - Math.floor(q) > 0.5 ? 1 : 0);
};

//: larger
const larger = (a, b) => (b > a ? b : a);

//: smaller
const smaller = (a, b) => (b < a ? b : a);

//: power
const power = (a, b) => // as in C, where 1 and -1 have powers that are no number here
  a === 1 || (a === -1 && Math.abs(b) === Infinity) ? 1 : Math.pow(a, b);

//: find
const find = (table, key, otherwise) => // what is no number is not found
  key === key && table.has(key) ? table.get(key) : otherwise;

//: bisect
const bisect = (all, key, right) => { // how many lie below, or are equal
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (right ? !(key < all[middle]) : all[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low;
};

//: number
const number = (texts, text) => { // what a text is computed with
  const found = texts.indexOf(Array.isArray(text) ? text[0] : text) + 1;
  if (!found) throw new RangeError(`${text} is none of ${texts}`);
  return found;
};

//: truth
const truth = (cell) => { // as files write truth values, too
  const found = ['false', 'true', '0', '1'].indexOf(String(cell).trim().toLowerCase());
  if (found < 0) throw new RangeError(`${cell} is neither true nor false`);
  return found % 2;
};
