// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cities by name, so that scenarios can say "London".
//!
//! Two tables: [`CITIES`], compiled for this project, with the places that the studies it rebuilds mention; and the 1,500
//! largest cities with their populations from GeoNames (CC BY 4.0; `data/cities.csv`, made by `data/make_cities.py`).
//! Where both have a city the first one's coordinates count, those of the centre to a kilometre, in degrees. Names are
//! in plain letters; [`find`] ignores case, accents and punctuation. Of several cities of one name the largest has it;
//! the country tells the others apart: "Hyderabad, PK".

use crate::frames::great_circle_m;
use perigee_timeline::GeoPoint;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A city of the first table and one of the second that are closer than this are the same.
const SAME_CITY_M: f64 = 30e3;

/// A city.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct City {
    /// In plain letters.
    pub name: &'static str,
    /// Two-letter code (ISO 3166).
    pub country: &'static str,
    /// Degrees north.
    pub lat_deg: f64,
    /// Degrees east.
    pub lon_deg: f64,
    /// Inhabitants; zero = not known (not among the largest).
    pub population: u64,
}

impl City {
    /// On the ellipsoid.
    pub fn place(&self) -> GeoPoint {
        GeoPoint { lat_deg: self.lat_deg, lon_deg: self.lon_deg, height_m: 0.0 }
    }
}

const fn city(name: &'static str, country: &'static str, lat_deg: f64, lon_deg: f64) -> City {
    City { name, country, lat_deg, lon_deg, population: 0 }
}

/// The cities of the first table, by name.
#[rustfmt::skip]
pub const CITIES: &[City] = &[
    city("Abidjan", "CI", 5.320, -4.016),
    city("Abu Dhabi", "AE", 24.454, 54.377),
    city("Accra", "GH", 5.556, -0.197),
    city("Addis Ababa", "ET", 9.030, 38.740),
    city("Adelaide", "AU", -34.929, 138.601),
    city("Ahmedabad", "IN", 23.023, 72.571),
    city("Algiers", "DZ", 36.754, 3.059),
    city("Almaty", "KZ", 43.238, 76.946),
    city("Amman", "JO", 31.954, 35.911),
    city("Amsterdam", "NL", 52.370, 4.895),
    city("Anchorage", "US", 61.218, -149.900),
    city("Ankara", "TR", 39.933, 32.860),
    city("Antananarivo", "MG", -18.879, 47.508),
    city("Apia", "WS", -13.833, -171.767),
    city("Asuncion", "PY", -25.264, -57.576),
    city("Athens", "GR", 37.984, 23.728),
    city("Atlanta", "US", 33.749, -84.388),
    city("Auckland", "NZ", -36.850, 174.764),
    city("Austin", "US", 30.267, -97.743),
    city("Baghdad", "IQ", 33.315, 44.366),
    city("Baku", "AZ", 40.409, 49.867),
    city("Bangalore", "IN", 12.972, 77.594),
    city("Bangkok", "TH", 13.756, 100.502),
    city("Barcelona", "ES", 41.387, 2.170),
    city("Beijing", "CN", 39.904, 116.407),
    city("Beirut", "LB", 33.894, 35.502),
    city("Belgrade", "RS", 44.787, 20.457),
    city("Belo Horizonte", "BR", -19.917, -43.935),
    city("Bergen", "NO", 60.393, 5.324),
    city("Berlin", "DE", 52.520, 13.405),
    city("Bogota", "CO", 4.711, -74.072),
    city("Boston", "US", 42.360, -71.059),
    city("Brasilia", "BR", -15.794, -47.882),
    city("Brisbane", "AU", -27.470, 153.025),
    city("Brussels", "BE", 50.850, 4.352),
    city("Bucharest", "RO", 44.427, 26.103),
    city("Budapest", "HU", 47.498, 19.040),
    city("Buenos Aires", "AR", -34.604, -58.382),
    city("Cairo", "EG", 30.044, 31.236),
    city("Calgary", "CA", 51.045, -114.072),
    city("Cape Town", "ZA", -33.925, 18.424),
    city("Caracas", "VE", 10.480, -66.904),
    city("Casablanca", "MA", 33.573, -7.590),
    city("Changsha", "CN", 28.228, 112.939),
    city("Chengdu", "CN", 30.573, 104.067),
    city("Chennai", "IN", 13.083, 80.271),
    city("Chicago", "US", 41.878, -87.630),
    city("Chittagong", "BD", 22.357, 91.783),
    city("Chongqing", "CN", 29.563, 106.552),
    city("Christchurch", "NZ", -43.532, 172.636),
    city("Colombo", "LK", 6.927, 79.861),
    city("Conakry", "GN", 9.509, -13.712),
    city("Copenhagen", "DK", 55.676, 12.568),
    city("Curitiba", "BR", -25.429, -49.271),
    city("Dakar", "SN", 14.717, -17.467),
    city("Dalian", "CN", 38.914, 121.615),
    city("Dallas", "US", 32.777, -96.797),
    city("Damascus", "SY", 33.514, 36.277),
    city("Dar es Salaam", "TZ", -6.792, 39.208),
    city("Darwin", "AU", -12.463, 130.842),
    city("Delhi", "IN", 28.614, 77.209),
    city("Denver", "US", 39.739, -104.990),
    city("Detroit", "US", 42.331, -83.046),
    city("Dhaka", "BD", 23.811, 90.413),
    city("Djibouti", "DJ", 11.589, 43.146),
    city("Doha", "QA", 25.285, 51.531),
    city("Douala", "CM", 4.051, 9.768),
    city("Dubai", "AE", 25.205, 55.271),
    city("Dublin", "IE", 53.350, -6.260),
    city("Durban", "ZA", -29.859, 31.022),
    city("Easter Island", "CL", -27.150, -109.427),
    city("Edinburgh", "GB", 55.953, -3.189),
    city("Edmonton", "CA", 53.546, -113.494),
    city("Fairbanks", "US", 64.838, -147.716),
    city("Foggia", "IT", 41.462, 15.545),
    city("Fortaleza", "BR", -3.732, -38.527),
    city("Frankfurt", "DE", 50.110, 8.682),
    city("Fukuoka", "JP", 33.590, 130.402),
    city("Geneva", "CH", 46.204, 6.143),
    city("Guadalajara", "MX", 20.660, -103.350),
    city("Guam", "US", 13.444, 144.794),
    city("Guangzhou", "CN", 23.129, 113.264),
    city("Guatemala City", "GT", 14.634, -90.507),
    city("Guayaquil", "EC", -2.190, -79.888),
    city("Halifax", "CA", 44.649, -63.575),
    city("Hamburg", "DE", 53.551, 9.994),
    city("Hangzhou", "CN", 30.274, 120.155),
    city("Hanoi", "VN", 21.028, 105.854),
    city("Harare", "ZW", -17.825, 31.034),
    city("Harbin", "CN", 45.804, 126.535),
    city("Havana", "CU", 23.114, -82.367),
    city("Hawthorne", "US", 33.916, -118.353),
    city("Helsinki", "FI", 60.170, 24.938),
    city("Ho Chi Minh City", "VN", 10.823, 106.630),
    city("Hobart", "AU", -42.882, 147.327),
    city("Hong Kong", "HK", 22.320, 114.169),
    city("Honolulu", "US", 21.307, -157.858),
    city("Houston", "US", 29.760, -95.370),
    city("Hyderabad", "IN", 17.385, 78.487),
    city("Ibadan", "NG", 7.378, 3.947),
    city("Istanbul", "TR", 41.008, 28.978),
    city("Jakarta", "ID", -6.208, 106.846),
    city("Jeddah", "SA", 21.486, 39.193),
    city("Johannesburg", "ZA", -26.204, 28.047),
    city("Kabul", "AF", 34.555, 69.208),
    city("Kampala", "UG", 0.348, 32.583),
    city("Kano", "NG", 12.002, 8.592),
    city("Karachi", "PK", 24.861, 67.001),
    city("Kathmandu", "NP", 27.717, 85.324),
    city("Khartoum", "SD", 15.501, 32.560),
    city("Kigali", "RW", -1.944, 30.062),
    city("Kingston", "JM", 17.971, -76.793),
    city("Kinshasa", "CD", -4.442, 15.266),
    city("Kolkata", "IN", 22.573, 88.364),
    city("Kuala Lumpur", "MY", 3.139, 101.687),
    city("Kuwait City", "KW", 29.376, 47.977),
    city("Kyiv", "UA", 50.450, 30.523),
    city("La Paz", "BO", -16.490, -68.119),
    city("Lacchiarella", "IT", 45.323, 9.137),
    city("Lagos", "NG", 6.524, 3.379),
    city("Lahore", "PK", 31.520, 74.359),
    city("Las Vegas", "US", 36.170, -115.140),
    city("Lawrence", "US", 38.972, -95.235),
    city("Leuven", "BE", 50.880, 4.701),
    city("Lima", "PE", -12.046, -77.043),
    city("Lisbon", "PT", 38.722, -9.139),
    city("London", "GB", 51.507, -0.128),
    city("Los Angeles", "US", 34.052, -118.244),
    city("Luanda", "AO", -8.839, 13.289),
    city("Lusaka", "ZM", -15.387, 28.323),
    city("Lyon", "FR", 45.764, 4.836),
    city("Madrid", "ES", 40.417, -3.704),
    city("Manaus", "BR", -3.119, -60.022),
    city("Manchester", "GB", 53.481, -2.243),
    city("Manila", "PH", 14.600, 120.984),
    city("Maputo", "MZ", -25.966, 32.583),
    city("Marseille", "FR", 43.296, 5.370),
    city("Mecca", "SA", 21.389, 39.858),
    city("Medellin", "CO", 6.244, -75.581),
    city("Melbourne", "AU", -37.814, 144.963),
    city("Mexico City", "MX", 19.433, -99.133),
    city("Miami", "US", 25.762, -80.192),
    city("Milan", "IT", 45.464, 9.190),
    city("Minneapolis", "US", 44.978, -93.265),
    city("Minsk", "BY", 53.904, 27.562),
    city("Mogadishu", "SO", 2.047, 45.318),
    city("Monterrey", "MX", 25.687, -100.316),
    city("Montevideo", "UY", -34.901, -56.165),
    city("Montreal", "CA", 45.502, -73.567),
    city("Moscow", "RU", 55.756, 37.617),
    city("Mumbai", "IN", 19.076, 72.878),
    city("Munich", "DE", 48.135, 11.582),
    city("Nagoya", "JP", 35.181, 136.906),
    city("Nairobi", "KE", -1.292, 36.822),
    city("Nanjing", "CN", 32.060, 118.797),
    city("Naples", "IT", 40.852, 14.268),
    city("New York", "US", 40.713, -74.006),
    city("Noumea", "NC", -22.276, 166.457),
    city("Novosibirsk", "RU", 55.008, 82.936),
    city("Nuuk", "GL", 64.181, -51.694),
    city("Osaka", "JP", 34.694, 135.502),
    city("Oslo", "NO", 59.914, 10.752),
    city("Ottawa", "CA", 45.421, -75.697),
    city("Ouagadougou", "BF", 12.371, -1.520),
    city("Panama City", "PA", 8.983, -79.520),
    city("Papeete", "PF", -17.551, -149.558),
    city("Paris", "FR", 48.857, 2.352),
    city("Perth", "AU", -31.950, 115.860),
    city("Philadelphia", "US", 39.953, -75.165),
    city("Phnom Penh", "KH", 11.556, 104.928),
    city("Phoenix", "US", 33.448, -112.074),
    city("Pittsburgh", "US", 40.441, -79.996),
    city("Port Moresby", "PG", -9.443, 147.180),
    city("Port-au-Prince", "HT", 18.594, -72.307),
    city("Portland", "US", 45.515, -122.678),
    city("Porto Alegre", "BR", -30.035, -51.218),
    city("Prague", "CZ", 50.076, 14.438),
    city("Puerto Montt", "CL", -41.472, -72.937),
    city("Pune", "IN", 18.520, 73.857),
    city("Punta Arenas", "CL", -53.164, -70.917),
    city("Pyongyang", "KP", 39.039, 125.763),
    city("Qingdao", "CN", 36.067, 120.383),
    city("Quebec", "CA", 46.814, -71.208),
    city("Quito", "EC", -0.181, -78.468),
    city("Rabat", "MA", 34.021, -6.842),
    city("Recife", "BR", -8.047, -34.877),
    city("Redmond", "US", 47.674, -122.122),
    city("Reykjavik", "IS", 64.147, -21.943),
    city("Riga", "LV", 56.950, 24.106),
    city("Rio de Janeiro", "BR", -22.907, -43.173),
    city("Riyadh", "SA", 24.714, 46.675),
    city("Rome", "IT", 41.903, 12.496),
    city("Salt Lake City", "US", 40.761, -111.891),
    city("Salvador", "BR", -12.978, -38.502),
    city("San Antonio", "US", 29.425, -98.494),
    city("San Diego", "US", 32.716, -117.161),
    city("San Francisco", "US", 37.775, -122.419),
    city("San Jose, California", "US", 37.338, -121.886),
    city("San Jose, Costa Rica", "CR", 9.928, -84.091),
    city("San Juan", "PR", 18.466, -66.106),
    city("Sanaa", "YE", 15.369, 44.191),
    city("Santa Cruz", "BO", -17.784, -63.182),
    city("Santiago", "CL", -33.449, -70.669),
    city("Santo Domingo", "DO", 18.486, -69.931),
    city("Sao Paulo", "BR", -23.551, -46.633),
    city("Sapporo", "JP", 43.062, 141.354),
    city("Seattle", "US", 47.606, -122.332),
    city("Seoul", "KR", 37.566, 126.978),
    city("Shanghai", "CN", 31.230, 121.474),
    city("Shenyang", "CN", 41.806, 123.432),
    city("Shenzhen", "CN", 22.543, 114.058),
    city("Singapore", "SG", 1.352, 103.820),
    city("Sofia", "BG", 42.698, 23.322),
    city("St John's", "CA", 47.562, -52.713),
    city("St Petersburg", "RU", 59.934, 30.335),
    city("Stanley", "FK", -51.698, -57.852),
    city("Stockholm", "SE", 59.329, 18.069),
    city("Surabaya", "ID", -7.258, 112.752),
    city("Suva", "FJ", -18.125, 178.442),
    city("Sydney", "AU", -33.869, 151.209),
    city("Taipei", "TW", 25.033, 121.565),
    city("Tallinn", "EE", 59.437, 24.754),
    city("Tashkent", "UZ", 41.299, 69.240),
    city("Tbilisi", "GE", 41.715, 44.827),
    city("Tehran", "IR", 35.689, 51.389),
    city("Tel Aviv", "IL", 32.085, 34.782),
    city("Tianjin", "CN", 39.343, 117.362),
    city("Tokyo", "JP", 35.677, 139.650),
    city("Toronto", "CA", 43.653, -79.383),
    city("Tripoli", "LY", 32.887, 13.191),
    city("Tromso", "NO", 69.649, 18.956),
    city("Tunis", "TN", 36.806, 10.182),
    city("Ulaanbaatar", "MN", 47.886, 106.906),
    city("Urumqi", "CN", 43.826, 87.617),
    city("Ushuaia", "AR", -54.802, -68.303),
    city("Vancouver", "CA", 49.283, -123.121),
    city("Victoria", "CA", 48.428, -123.366),
    city("Vienna", "AT", 48.208, 16.374),
    city("Vilnius", "LT", 54.687, 25.280),
    city("Vladivostok", "RU", 43.116, 131.882),
    city("Warsaw", "PL", 52.230, 21.012),
    city("Washington", "US", 38.907, -77.037),
    city("Wellington", "NZ", -41.287, 174.776),
    city("Windhoek", "NA", -22.561, 17.066),
    city("Winnipeg", "CA", 49.895, -97.138),
    city("Wuhan", "CN", 30.593, 114.305),
    city("Xi'an", "CN", 34.342, 108.940),
    city("Yangon", "MM", 16.841, 96.174),
    city("Yaounde", "CM", 3.848, 11.502),
    city("Yekaterinburg", "RU", 56.839, 60.608),
    city("Yerevan", "AM", 40.179, 44.499),
    city("Zagreb", "HR", 45.815, 15.982),
    city("Zhengzhou", "CN", 34.747, 113.625),
    city("Zurich", "CH", 47.377, 8.541),
];

/// Both tables in one.
#[derive(Debug)]
struct Atlas {
    /// Those of the first table, then the others, the largest first.
    cities: Vec<City>,
    /// By name in plain letters, with and without the country.
    by_name: BTreeMap<String, usize>,
    /// The cities of the second table, the largest first.
    largest: Vec<usize>,
}

fn atlas() -> &'static Atlas {
    static ATLAS: OnceLock<Atlas> = OnceLock::new();
    ATLAS.get_or_init(|| {
        let mut atlas = Atlas { cities: CITIES.to_vec(), by_name: BTreeMap::new(), largest: Vec::new() };
        let table: Vec<City> = table().collect();
        let first: BTreeMap<usize, usize> =
            CITIES.iter().enumerate().filter_map(|(i, c)| Some((same_city(c, &table)?, i))).collect();
        for (k, city) in table.iter().enumerate() {
            let number = first.get(&k).copied().unwrap_or(atlas.cities.len());
            match first.get(&k) {
                Some(&i) => atlas.cities[i].population = city.population,
                None => atlas.cities.push(*city),
            }
            atlas.largest.push(number);
        }
        for (i, c) in atlas.cities.iter().enumerate() {
            for name in [plain(c.name), plain(c.name) + &plain(c.country)] {
                atlas.by_name.entry(name).or_insert(i);
            }
        }
        atlas
    })
}

/// The city of the second table that a city of the first is: the near one of its name, else (names differ between the
/// tables) the nearest one of its country. A neighbour across a border is another city.
fn same_city(c: &City, table: &[City]) -> Option<usize> {
    let distance = |k: usize| great_circle_m(c.place(), table[k].place());
    let near = (0..table.len()).filter(|&k| table[k].country == c.country && distance(k) < SAME_CITY_M);
    let other_name = |k: usize| plain(table[k].name) != plain(c.name);
    near.min_by(|&a, &b| {
        (other_name(a), distance(a)).partial_cmp(&(other_name(b), distance(b))).expect("finite")
    })
}

/// The second table.
fn table() -> impl Iterator<Item = City> {
    let rows = include_str!("../../data/cities.csv").lines().filter(|l| !l.starts_with('#')).skip(1);
    rows.filter_map(|row| {
        let mut cells = row.split(',');
        Some(City {
            name: cells.next()?,
            country: cells.next()?,
            lat_deg: cells.next()?.parse().ok()?,
            lon_deg: cells.next()?.parse().ok()?,
            population: cells.next()?.parse().ok()?,
        })
    })
}

/// The city of a name; the country may follow after a comma: "Lawrence, US".
pub fn find(name: &str) -> Option<&'static City> {
    atlas().by_name.get(&plain(name)).map(|&i| &atlas().cities[i])
}

/// The largest cities, the largest first.
pub fn largest() -> impl Iterator<Item = &'static City> {
    atlas().largest.iter().map(|&i| &atlas().cities[i])
}

/// Names of all cities.
pub fn names() -> impl Iterator<Item = &'static str> {
    atlas().cities.iter().map(|c| c.name)
}

/// The ground stations of the OrbCC study, each with its name: five cities, then 95 gateways.
pub fn study_stations() -> impl Iterator<Item = (&'static str, GeoPoint)> {
    let rows = include_str!("../../data/gateways.csv").lines().filter(|l| !l.starts_with('#')).skip(1);
    rows.filter_map(|row| {
        let mut cells = row.split(',');
        let name = cells.next()?;
        let (lat_deg, lon_deg) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
        Some((name, GeoPoint { lat_deg, lon_deg, height_m: 0.0 }))
    })
}

/// The name that is spelt most like `name`, unless none is like it.
pub fn nearest_spelling(name: &str) -> Option<&'static str> {
    let wanted = plain(name);
    let all = &atlas().cities;
    let (distance, best) = all.iter().enumerate().map(|(i, c)| (edits(&wanted, &plain(c.name)), i)).min()?;
    // Part of a name ("San Jose") is near to it however much is missing.
    let begins = || names().find(|n| wanted.len() >= 3 && plain(n).starts_with(&wanted));
    let like = || (distance * 3 <= wanted.len()).then_some(all[best].name);
    if distance <= 1 {
        like()
    } else {
        begins().or_else(like)
    }
}

/// Small letters and digits only, accents taken off.
fn plain(name: &str) -> String {
    let base = |c: char| match c {
        'á' | 'à' | 'â' | 'ã' | 'ä' | 'å' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'ì' | 'î' | 'ï' => 'i',
        'ó' | 'ò' | 'ô' | 'õ' | 'ö' | 'ø' => 'o',
        'ú' | 'ù' | 'û' | 'ü' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        c => c,
    };
    name.chars().flat_map(char::to_lowercase).map(base).filter(|c| c.is_alphanumeric()).collect()
}

/// Letters to insert, delete or replace (Levenshtein's distance).
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replace = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for name in
            ["London", "london", "São Paulo", "sao-paulo", "St. John's", "Xi\u{2019}an", "Lawrence, US"]
        {
            assert!(find(name).is_some(), "{name}");
        }
        assert_eq!(find("San José, Costa Rica").unwrap().country, "CR");
        assert_eq!(find("San Jose"), None, "there are two");
    }

    #[test]
    fn a_typing_error_gets_a_suggestion() {
        assert_eq!(nearest_spelling("Lodnon"), Some("London"));
        assert_eq!(nearest_spelling("Buenos Ayres"), Some("Buenos Aires"));
        assert_eq!(nearest_spelling("San Jose"), Some("San Jose, California"));
        assert_eq!(nearest_spelling("qqqqqq"), None);
    }

    #[test]
    fn the_list_is_in_order_and_on_earth() {
        assert!(CITIES.windows(2).all(|w| plain(w[0].name) != plain(w[1].name) && w[0].name < w[1].name));
        assert!(CITIES
            .iter()
            .all(|c| c.lat_deg.abs() < 72.0 && c.lon_deg.abs() <= 180.0 && c.country.len() == 2));
    }

    #[test]
    fn more_than_a_thousand_cities_have_their_population() {
        let all: Vec<&City> = largest().collect();
        assert_eq!(all.len(), 1500);
        assert!(all.windows(2).all(|w| w[0].population >= w[1].population) && all[1499].population > 100_000);
        assert!(all
            .iter()
            .all(|c| c.lat_deg.abs() < 72.0 && c.lon_deg.abs() <= 180.0 && c.country.len() == 2));
        // Neighbours across a border keep their names.
        for (name, country) in
            [("Shenzhen", "CN"), ("Hong Kong", "HK"), ("Tijuana", "MX"), ("San Diego", "US")]
        {
            let found: Vec<_> = all.iter().filter(|c| c.name == name).collect();
            assert!(found.len() == 1 && found[0].country == country, "{name}: {found:?}");
        }
        let london = find("London").unwrap();
        assert!(london.population > 8_000_000 && london.lat_deg == 51.507, "the first table's coordinates");
        assert_eq!(find("Hyderabad").unwrap().country, "IN");
        assert_eq!(find("Hyderabad, PK").unwrap().country, "PK");
        // Every one of them is found by its name or by its name and country.
        let lost: Vec<_> =
            all.iter().filter(|c| find(&format!("{}, {}", c.name, c.country)).is_none()).collect();
        assert!(lost.iter().all(|c| c.name.contains(',')), "{lost:?}");
    }

    #[test]
    fn the_studys_stations_are_five_cities_and_95_gateways() {
        let all: Vec<_> = study_stations().collect();
        assert_eq!(all.len(), 100);
        assert_eq!((all[2].0, all[29].0, all[94].0), ("New York", "Lawrence KS", "Foggia Apulia"));
        assert!(all.iter().enumerate().all(|(i, a)| all[..i].iter().all(|b| b.0 != a.0)));
    }
}
