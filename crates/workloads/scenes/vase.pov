// A glass vase on a marble pedestal over a chequered floor, under a sky with clouds: in the spirit of skyvase.pov, the
// scene with which source 002 measured, but a text of our own.
//
// Nothing here is random, and nothing is computed from neighbouring pixels: no jitter, no radiosity, no photons. So
// every pixel is a function of its place alone, whoever traces it. No file is included.

#version 3.7;

global_settings {
  assumed_gamma 1.0
  // Enough for a ray through both walls of the vase, mirrored in the floor and back.
  max_trace_level 12
}

camera {
  location <0, 3.4, -9>
  look_at <0, 1.9, 0>
  right x * image_width / image_height
  angle 42
}

// A large lamp, as nine small ones: soft shadows, and most of the work.
light_source {
  <6, 12, -10>
  color rgb <1.0, 0.96, 0.88>
  area_light <2.5, 0, 0>, <0, 2.5, 0>, 3, 3
}

light_source {
  <-12, 8, -6>
  color rgb <0.18, 0.22, 0.3>
  shadowless
}

sky_sphere {
  pigment {
    gradient y
    color_map {
      [0.0 color rgb <0.75, 0.82, 0.95>]
      [0.7 color rgb <0.15, 0.30, 0.70>]
    }
  }
  pigment {
    bozo
    turbulence 0.7
    octaves 7
    omega 0.55
    lambda 2.2
    color_map {
      [0.45 color rgbt <1, 1, 1, 1>]
      [0.75 color rgbt <1, 1, 1, 0.1>]
    }
    scale <0.5, 0.2, 0.5>
  }
}

plane {
  y, 0
  pigment {
    checker color rgb <0.10, 0.12, 0.16>, color rgb <0.80, 0.76, 0.68>
    scale 0.9
  }
  normal { ripples 0.05 frequency 3 scale 0.6 translate <2, 0, 4> }
  finish { ambient 0.05 diffuse 0.6 specular 0.4 roughness 0.02 reflection { 0.25 } }
}

#declare Marble = texture {
  pigment {
    marble
    turbulence 0.9
    octaves 6
    color_map {
      [0.0 color rgb <0.92, 0.90, 0.86>]
      [0.6 color rgb <0.70, 0.66, 0.62>]
      [0.9 color rgb <0.25, 0.22, 0.22>]
      [1.0 color rgb <0.90, 0.88, 0.85>]
    }
    rotate 30 * z
    scale 0.6
  }
  finish { ambient 0.08 diffuse 0.7 specular 0.3 roughness 0.01 reflection { 0.06 } }
}

union {
  cylinder { <0, 0, 0>, <0, 0.25, 0>, 1.5 }
  cylinder { <0, 0.25, 0>, <0, 0.9, 0>, 1.1 }
  torus { 1.1, 0.12 translate 0.3 * y }
  torus { 1.1, 0.12 translate 0.85 * y }
  texture { Marble }
}

// The wall of the vase: an outer surface of revolution less an inner one.
difference {
  sor {
    8,
    <0.40, -0.10>, <0.55, 0.00>, <0.85, 0.70>, <0.75, 1.50>, <0.35, 2.10>, <0.40, 2.60>, <0.62, 2.90>, <0.70, 3.00>
  }
  sor {
    8,
    <0.30, -0.05>, <0.45, 0.10>, <0.77, 0.72>, <0.67, 1.48>, <0.28, 2.10>, <0.33, 2.60>, <0.56, 2.95>, <0.66, 3.10>
  }
  pigment { color rgbt <0.85, 0.95, 0.92, 0.85> }
  finish { ambient 0 diffuse 0.1 specular 0.9 roughness 0.002 reflection { 0.05, 0.9 fresnel on } conserve_energy }
  interior { ior 1.45 }
  translate 0.97 * y
}

// Twelve balls around it, metal and stone in turn.
#declare Index = 0;
#while (Index < 12)
  sphere {
    <2.4, 0.35, 0>, 0.35
    #if (mod(Index, 2) = 0)
      pigment { color rgb <0.85, 0.60, 0.25> }
      finish { ambient 0.05 diffuse 0.4 specular 0.8 roughness 0.01 metallic reflection { 0.45 metallic } }
    #else
      texture { Marble scale 0.4 }
    #end
    rotate 30 * Index * y
  }
  #declare Index = Index + 1;
#end
