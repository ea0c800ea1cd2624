//: mod
static double mod(double a, double b) { /* the remainder has the sign of b */
    double r = fmod(a, b);
    if (r == 0) return copysign(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
}

//: quotient
static double quotient(double a, double b) { /* as Python's a // b of doubles */
    if (b == 0) return a / b;
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    if (q == 0) return copysign(0, a / b);
    return floor(q) + (q - floor(q) > 0.5);
}

//: larger
static double larger(double a, double b) { return b > a ? b : a; }

//: smaller
static double smaller(double a, double b) { return b < a ? b : a; }

//: ranked
static double ranked(int place, int count, double *given) { /* the place-th smallest */
    for (int i = 1; i < count; i++) {
        double value = given[i];
        int k = i;
        for (; k > 0 && value < given[k - 1]; k--) given[k] = given[k - 1];
        given[k] = value;
    }
    return given[place - 1];
}

//: table
typedef struct { double *keys, *values; size_t count, room; } table;

static int put(table *all, size_t i, double key, double value) { /* one more, at place i */
    if (all->count == all->room) {
        size_t room = 2 * all->room + 16;
        double *keys = realloc(all->keys, room * sizeof *keys);
        if (keys) all->keys = keys;
        double *values = realloc(all->values, room * sizeof *values);
        if (values) all->values = values;
        if (!keys || !values) return 1;
        all->room = room;
    }
    for (size_t k = all->count++; k > i; k--) {
        all->keys[k] = all->keys[k - 1];
        all->values[k] = all->values[k - 1];
    }
    all->keys[i] = key;
    all->values[i] = value;
    return 0;
}

//: find
static double find(const table *all, double key, double otherwise) {
    for (size_t i = 0; i < all->count; i++)
        if (all->keys[i] == key) return all->values[i];
    return otherwise;
}

static int keep(table *all, double key, double value) {
    size_t i = 0;
    while (i < all->count && all->keys[i] != key) i++;
    if (i == all->count) return put(all, i, key, value);
    all->values[i] = value;
    return 0;
}

//: bisect
static size_t bisect(const table *all, double key, int right) { /* how many lie below */
    size_t low = 0, high = all->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (right ? !(key < all->keys[middle]) : all->keys[middle] < key) low = middle + 1;
        else high = middle;
    }
    return low;
}
